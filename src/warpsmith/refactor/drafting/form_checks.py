"""What must hold of a form that somebody wrote, as far as reading tells: it is said before anything is compiled."""

from __future__ import annotations

from warpsmith.core.errors import InputError
from warpsmith.core.expression import Expression
from warpsmith.core.hardware import Limits
from warpsmith.refactor.allowed import require_allowed
from warpsmith.refactor.base import Variant
from warpsmith.refactor.drafting.checks import Faulty, check_variant
from warpsmith.refactor.drafting.draft import Draft, names_used
from warpsmith.refactor.names import taken_names
from warpsmith.refactor.proposal import FORM, Proposal
from warpsmith.source import parse_kernel
from warpsmith.spec.kernel import Kernel


def check_form(proposal: Proposal, kernel: Kernel, limits: Limits) -> None:
    """Raises Faulty, in words that who wrote it can act on."""
    before = Draft.of(kernel, limits).branches[0].variant
    after = Variant(
        proposal.source, before.entry, proposal.grid, proposal.block, proposal.shared, proposal.tunables, proposal.rules
    )
    try:
        check_variant(kernel, before, after, (FORM,), frozenset())
    except Faulty as fault:
        raise Faulty(_explained(str(fault), kernel, before.text, proposal)) from None
    try:
        require_allowed(proposal.source, before.text, kernel.language)
    except InputError as error:
        raise Faulty(f"{error.message} ({error.hint})" if error.hint else error.message) from None
    _check_signature(proposal.source, kernel, before)
    unused = [t.name for t in proposal.tunables if t.name not in names_used(after)]
    if unused:
        raise Faulty(f"{', '.join(unused)}: listed as parameter, but named neither in the source nor in the launch")
    _check_geometry(proposal, kernel, limits)


def _explained(fault: str, kernel: Kernel, text: str, proposal: Proposal) -> str:
    if fault.startswith("unknown name"):
        sizes = dict.fromkeys(name for workload in kernel.workloads for name in workload.sizes)
        known = [*(tunable.name for tunable in proposal.tunables), *sizes]
        return (
            f"{fault}; launch and constraints know the listed parameters, the sizes ({', '.join(known)}) and the device's limits"
        )
    if "already means something" not in fault:
        return fault
    taken = sorted({t.name for t in proposal.tunables} & taken_names(kernel, text))
    return f"{fault}; take other names for {', '.join(taken)}, and use them in the source too"


def _check_signature(source: str, kernel: Kernel, before: Variant) -> None:
    try:
        ours = parse_kernel(before.text, kernel.language, before.entry)
    except InputError:
        return  # what cannot be read of the original cannot be asked of a form
    try:
        theirs = parse_kernel(source, kernel.language, before.entry)
    except InputError as error:
        raise Faulty(f"the source has no entry {before.entry!r} that can be read: {error.message}") from None
    wanted, found = ([f"{p.type} {p.name}".strip() for p in k.parameters] for k in (ours, theirs))
    if [p.depth for p in ours.parameters] != [p.depth for p in theirs.parameters]:
        raise Faulty(f"the entry takes ({', '.join(found)}); it must take what the original takes: ({', '.join(wanted)})")


def _check_geometry(proposal: Proposal, kernel: Kernel, limits: Limits) -> None:
    """At its defaults the form must have a launch for every workload."""
    defaults = {tunable.name: tunable.default for tunable in proposal.tunables}
    for workload in kernel.workloads:
        names = {**limits.names(), **workload.sizes, **defaults}
        try:
            extents = [int(Expression.parse(text).evaluate(names)) for text in (*proposal.grid, *proposal.block)]
            shared = int(Expression.parse(proposal.shared).evaluate(names))
        except InputError as error:
            raise Faulty(f"the launch has no value for workload {workload.name!r}: {error.message}") from None
        if min(extents) < 1 or shared < 0:
            found = f"grid and block {extents}, shared {shared}"
            raise Faulty(
                f"with its defaults the launch of workload {workload.name!r} is {found}: every extent must be at least 1"
            )
