"""What must hold of a form that somebody wrote, as far as reading tells: it is said before anything is compiled."""

from __future__ import annotations

from dataclasses import replace

from warpsmith.core.errors import InputError
from warpsmith.core.expression import Expression
from warpsmith.core.hardware import Limits
from warpsmith.devices.base import Original
from warpsmith.refactor.allowed import require_allowed
from warpsmith.refactor.base import Variant
from warpsmith.refactor.drafting.application import apply_pass
from warpsmith.refactor.drafting.checks import Faulty, check_variant
from warpsmith.refactor.drafting.combine import Refactored, combined
from warpsmith.refactor.drafting.draft import Draft, names_used
from warpsmith.refactor.names import taken_names
from warpsmith.refactor.proposal import FORM, Proposal, ProposedForms
from warpsmith.source import parse_kernel
from warpsmith.spec.document import read_source
from warpsmith.spec.kernel import Kernel
from warpsmith.template import Template
from warpsmith.template.settling import settled

_MOST_LINES = 5_000
_MOST_DIRECTIVES = 1_000


def check_form(proposal: Proposal, kernel: Kernel, limits: Limits) -> None:
    """Raises Faulty, in words that who wrote it can act on."""
    draft = Draft.of(kernel, limits)
    before = draft.branches[0].variant
    after = Variant(
        proposal.source, before.entry, proposal.grid, proposal.block, proposal.shared, proposal.tunables, proposal.rules
    )
    try:
        check_variant(kernel, before, after, (FORM,), frozenset())
    except Faulty as fault:
        raise Faulty(_explained(str(fault), kernel, before.text, proposal)) from None
    _require_allowed(proposal, kernel)
    _check_signature(proposal.source, kernel, before)
    unused = [t.name for t in proposal.tunables if t.name not in names_used(after)]
    if unused:
        raise Faulty(f"{', '.join(unused)}: listed as parameter, but named neither in the source nor in the launch")
    _check_geometry(proposal, kernel, limits)
    _rehearse(proposal, draft)


def check_whole_template(proposal: Proposal, kernel: Kernel, limits: Limits) -> None:
    """The same of a template that somebody wrote as a whole; whether it loads and is the original is for others to find out."""
    _require_allowed(proposal, kernel)
    draft = Draft.of(kernel, limits)
    _settle(Refactored(draft, "", (), (), "0", proposal.tunables, ()), proposal.source)


def _require_allowed(proposal: Proposal, kernel: Kernel) -> None:
    """With its parameters at their defaults; all other configurations are held to it when they are compiled."""
    for sign, most, what in (("\n", _MOST_LINES, "lines"), ("#", _MOST_DIRECTIVES, "directives")):
        if proposal.source.count(sign) > most:
            raise Faulty(f"the source has more than {most:,} {what}: leave out what the kernel does not need")
    defaults = {tunable.name: tunable.default for tunable in proposal.tunables}
    original, folders = Original(read_source(kernel.source), kernel.defines), tuple(sorted(kernel.folders))
    try:
        require_allowed(proposal.source, original, kernel.language, defines=defaults, folders=folders, clang_knows_all=None)
    except InputError as error:
        raise Faulty(f"{error.message} ({error.hint})" if error.hint else error.message) from None


def _rehearse(proposal: Proposal, draft: Draft) -> None:
    """What the tuner will do with the text: where that takes too long, it had better be found out here, in a confined worker."""
    found = combined(apply_pass(draft, ProposedForms((proposal,))))
    _settle(found, found.body)


def _settle(found: Refactored, text: str) -> None:
    kernel = replace(found.draft.kernel, parameters=found.spec_parameters)
    used = frozenset(parameter.name for parameter in kernel.parameters)
    settled(Template(text, kernel.source, kernel.parameters, (), kernel.launch, used), kernel.default_configuration)


def _explained(fault: str, kernel: Kernel, text: str, proposal: Proposal) -> str:
    if fault.startswith("unknown name"):
        sizes = dict.fromkeys(name for workload in kernel.workloads for name in workload.sizes)
        known = [*(tunable.name for tunable in proposal.tunables), *sizes]
        return (
            f"{fault}; launch and constraints know the listed parameters, the sizes ({', '.join(known)}) and the device's limits"
        )
    if "is already used in the source" not in fault:
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
