"""From a model's reply to a `Proposal`: what is only a habit is put right, what cannot be right goes back with the reason."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import replace

from warpsmith.agents.llm.problem import Problem
from warpsmith.agents.llm.replies import FormReply, ParameterReply
from warpsmith.core.errors import InputError
from warpsmith.core.expression import Expression
from warpsmith.core.hardware import Limits
from warpsmith.refactor.base import Rule, Tunable, Variant
from warpsmith.refactor.checks import Faulty, check_variant
from warpsmith.refactor.draft import Draft, names_used
from warpsmith.refactor.names import taken_names
from warpsmith.refactor.proposal import FORM, Proposal, require_allowed
from warpsmith.source import parse_kernel
from warpsmith.spec.kernel import Kernel

_FENCE = re.compile(r"\A\s*```[\w+-]*[ \t]*\n(.*?)\n?[ \t]*```\s*\Z", re.DOTALL)
_LARGEST_VALUE = 1 << 30
_MOST_COMBINATIONS = 100_000  # passes multiply them


def proposal_of(reply: FormReply, kernel: Kernel, limits: Limits, number: int, *, fixed: bool = False) -> Proposal:
    """`fixed`: a whole rewrite, in which every choice is made already. Raises Problem."""
    if not reply.source.strip():
        raise Problem("there is no source: give the whole file, or set give_up")
    if reply.launch is None:
        raise Problem("there is no launch: give grid and block as in kernel.toml")
    source = _unfenced(reply.source)
    tunables = tuple(_tunable(parameter, source) for parameter in reply.parameters)
    combinations = math.prod(len(tunable.values) for tunable in tunables)
    if combinations > _MOST_COMBINATIONS:
        raise Problem(f"its parameters have {combinations:,} combinations; keep below {_MOST_COMBINATIONS:,} with fewer values")
    source = _without_definitions(source, [tunable.name for tunable in tunables])
    rules = tuple(Rule(c.expression, c.reason or "the form needs it") for c in reply.constraints)
    proposal = Proposal(
        number=number,
        source=source,
        grid=tuple(reply.launch.grid),
        block=tuple(reply.launch.block),
        shared=reply.launch.shared,
        tunables=tunables,
        rules=rules,
        hypothesis=reply.hypothesis,
    )
    if fixed:
        proposal = _settled(proposal)
    _check(proposal, kernel, limits)
    return proposal


def require_new(proposal: Proposal, known: Iterable[Proposal]) -> None:
    """Raises Problem for a form that was written before, whatever its spaces."""
    for other in known:
        if _gist(other) == _gist(proposal):
            raise Problem(f"this is form {other.number} again, unchanged: write another one, or set give_up")


def _gist(proposal: Proposal) -> tuple[object, ...]:
    values = tuple(sorted((tunable.name, tunable.values) for tunable in proposal.tunables))
    return " ".join(proposal.source.split()), proposal.grid, proposal.block, proposal.shared, values, proposal.rules


def _unfenced(source: str) -> str:
    if "\n" not in source.strip() and "\\n" in source:  # escaped twice
        source = source.replace("\\n", "\n").replace('\\"', '"')
    found = _FENCE.match(source)
    text = (found[1] if found else source).replace("\r\n", "\n")
    return text if text.endswith("\n") else f"{text}\n"


# ── parameters ──


def _tunable(reply: ParameterReply, source: str) -> Tunable:
    name = reply.name.strip()
    if name == FORM:
        raise Problem(f"{FORM} is the name of the parameter that chooses between forms; call yours something else")
    default = reply.default if reply.default is not None else _default_in(source, name)
    values = sorted({*reply.values, *([] if default is None else [default])})
    if not all(0 <= value <= _LARGEST_VALUE for value in values):
        raise Problem(f"the values of {name} must be from 0 to {_LARGEST_VALUE:,}; found {values}")
    return Tunable(name, tuple(values), values[0] if default is None else default, reply.meaning or f"{name} of this form")


def _definition(name: str) -> str:
    """Matches the line that gives a name its number, with a comment behind it or without."""
    comment = r"(?://[^\n]*|/\*[^\n]*\*/[ \t]*)?"
    return rf"^[ \t]*#[ \t]*define[ \t]+{re.escape(name)}[ \t]+\(?[ \t]*(\d+)[ \t]*\)?[ \t]*{comment}(?:\n|\Z)"


def _default_in(source: str, name: str) -> int | None:
    found = re.search(_definition(name), source, re.MULTILINE)
    return int(found[1]) if found else None


def _without_definitions(source: str, names: Iterable[str]) -> str:
    """The template's own header defines parameters; one in the form as well would fix the value."""
    for name in names:
        plain, word = _definition(name), rf"{re.escape(name)}\b"
        opening = rf"^[ \t]*#[ \t]*(?:ifndef[ \t]+{word}|if[ \t]+!\s*defined\s*\(?\s*{word})[^\n]*\n"
        closing = r"[ \t]*#[ \t]*endif[^\n]*(?:\n|\Z)"
        source = re.sub(f"{opening}{plain.removeprefix('^')}{closing}", "", source, flags=re.MULTILINE)
        source = re.sub(plain, "", source, flags=re.MULTILINE)
    return source


def _settled(proposal: Proposal) -> Proposal:
    """A rewrite has no parameters: those it lists all the same are fixed at their defaults, in the text."""
    defines = "".join(f"#define {t.name} {t.default}\n" for t in proposal.tunables)
    names = {t.name: str(t.default) for t in proposal.tunables}
    fixed = [_with_values(text, names) for text in (*proposal.grid, *proposal.block, proposal.shared)]
    grid, block = fixed[: len(proposal.grid)], fixed[len(proposal.grid) : -1]
    return replace(
        proposal, source=defines + proposal.source, grid=tuple(grid), block=tuple(block), shared=fixed[-1], tunables=(), rules=()
    )


def _with_values(text: str, names: dict[str, str]) -> str:
    return re.sub(r"[A-Za-z_]\w*", lambda found: names.get(found[0], found[0]), text)


# ── what must hold ──


def _check(proposal: Proposal, kernel: Kernel, limits: Limits) -> None:
    before = Draft.of(kernel, limits).branches[0].variant
    after = Variant(
        proposal.source, before.entry, proposal.grid, proposal.block, proposal.shared, proposal.tunables, proposal.rules
    )
    try:
        check_variant(kernel, before, after, (FORM,), frozenset())
    except Faulty as fault:
        raise Problem(_explained(str(fault), kernel, before.text, proposal)) from None
    try:
        require_allowed(proposal.source, before.text, kernel.language)
    except InputError as error:
        raise Problem(f"{error.message} ({error.hint})" if error.hint else error.message) from None
    _check_signature(proposal.source, kernel, before)
    unused = [t.name for t in proposal.tunables if t.name not in names_used(after)]
    if unused:
        raise Problem(f"{', '.join(unused)}: listed as parameter, but named neither in the source nor in the launch")
    _check_geometry(proposal, kernel, limits)


def _explained(fault: str, kernel: Kernel, text: str, proposal: Proposal) -> str:
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
        raise Problem(f"the source has no entry {before.entry!r} that can be read: {error.message}") from None
    wanted, found = ([f"{p.type} {p.name}".strip() for p in k.parameters] for k in (ours, theirs))
    if [p.depth for p in ours.parameters] != [p.depth for p in theirs.parameters]:
        raise Problem(f"the entry takes ({', '.join(found)}); it must take what the original takes: ({', '.join(wanted)})")


def _check_geometry(proposal: Proposal, kernel: Kernel, limits: Limits) -> None:
    """At its defaults the form must have a launch for every workload."""
    defaults = {tunable.name: tunable.default for tunable in proposal.tunables}
    for workload in kernel.workloads:
        names = {**limits.names(), **workload.sizes, **defaults}
        try:
            extents = [int(Expression.parse(text).evaluate(names)) for text in (*proposal.grid, *proposal.block)]
            shared = int(Expression.parse(proposal.shared).evaluate(names))
        except InputError as error:
            raise Problem(f"the launch has no value for workload {workload.name!r}: {error.message}") from None
        if min(extents) < 1 or shared < 0:
            found = f"grid and block {extents}, shared {shared}"
            raise Problem(
                f"with its defaults the launch of workload {workload.name!r} is {found}: every extent must be at least 1"
            )
