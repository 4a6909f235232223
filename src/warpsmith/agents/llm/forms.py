"""From a model's reply to a `Proposal`: harmless deviations are corrected, invalid replies are rejected with the reason."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import replace

from warpsmith.agents.llm.problem import Problem
from warpsmith.agents.llm.replies import FormReply, ParameterReply
from warpsmith.core.hardware import Limits
from warpsmith.refactor.base import Rule, Tunable
from warpsmith.refactor.confined.reader import problem_with_form
from warpsmith.refactor.proposal import FORM, Proposal
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
    fault = problem_with_form(proposal, kernel, limits)
    if fault is not None:
        raise Problem(fault)
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
    rules = tuple(replace(rule, expression=_with_values(rule.expression, names)) for rule in proposal.rules)
    return replace(
        proposal,
        source=defines + proposal.source,
        grid=tuple(grid),
        block=tuple(block),
        shared=fixed[-1],
        tunables=(),
        rules=rules,
    )


def _with_values(text: str, names: dict[str, str]) -> str:
    return re.sub(r"[A-Za-z_]\w*", lambda found: names.get(found[0], found[0]), text)
