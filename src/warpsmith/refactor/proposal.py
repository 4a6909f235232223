"""Forms of the kernel that an agent wrote: whole texts, which enter a draft the way a pass's alternatives do.

A proposal never replaces the original: it becomes one value of the structural parameter `FORM`, whose default 0 is the kernel as
it was. So the default stays the original token by token, whatever an agent writes, and the passes that follow work on every form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from warpsmith.core.errors import InputError
from warpsmith.refactor.allowed import require_allowed
from warpsmith.refactor.base import Answer, Concern, Declined, Rewrite, Rule, Stage, Subject, Tunable, Variant

PROPOSALS = "proposals"  # the pass's name, in plans and reports
FORM = "FORM"


@dataclass(frozen=True, slots=True)
class Proposal:
    """One form: branch-free source whose parameters are names, and its launch (expressions as in kernel.toml).

    `number` is its value of FORM, counted over all rounds of a run from 1 on.
    """

    number: int
    source: str
    grid: tuple[str, ...]
    block: tuple[str, ...]
    shared: str = "0"
    tunables: tuple[Tunable, ...] = ()
    rules: tuple[Rule, ...] = ()
    hypothesis: str = ""
    entry: str = ""  # of a whole rewrite, where it is another instance than the kernel's own
    by_passes: bool = False  # a whole rewrite that is a point of what our own passes make: nobody else wrote any of it

    @classmethod
    def from_record(cls, entry: dict[str, Any]) -> Proposal:
        """As `dataclasses.asdict` wrote it into a round's plan."""
        return cls(
            number=entry["number"],
            source=entry["source"],
            grid=tuple(entry["grid"]),
            block=tuple(entry["block"]),
            shared=entry["shared"],
            tunables=tuple(
                Tunable(**{**t, "values": tuple(t["values"]), "likely": tuple(t.get("likely", ()))}) for t in entry["tunables"]
            ),
            rules=tuple(Rule(**rule) for rule in entry["rules"]),
            hypothesis=entry["hypothesis"],
            entry=entry.get("entry", ""),
            by_passes=entry.get("by_passes", False),
        )


class ProposedForms:
    """All proposals of a run as one pass. It comes before every other, so that it finds the kernel untouched."""

    name = PROPOSALS
    summary = "whole forms of the kernel that an agent wrote"
    stage = Stage.LIFT
    priority = -100
    concerns = frozenset(Concern)

    def __init__(self, proposals: Sequence[Proposal]) -> None:
        self._proposals = tuple(proposals)

    def apply(self, subject: Subject) -> Answer:
        if not self._proposals:
            return Declined("no form was proposed")
        plain = subject.variant
        try:
            for proposal in self._proposals:
                require_allowed(proposal.source, plain.text, subject.kernel.language)
        except InputError as error:
            return Declined(error.message)
        forms = {
            p.number: Variant(p.source, plain.entry, p.grid, p.block, p.shared, p.tunables, p.rules) for p in self._proposals
        }
        said = "; ".join(f"{p.number}: {' '.join(p.hypothesis.split())}" for p in self._proposals)
        choice = Tunable(FORM, (0, *forms), 0, f"which form of the kernel; 0: the original; {said}")
        return Rewrite(plain, choice, forms)
