"""Forms of the kernel that an agent wrote: whole texts, which enter a draft the way a pass's alternatives do.

A proposal never replaces the original: it becomes one value of the structural parameter `FORM`, whose default 0 is the kernel as
it was. So the default stays the original token by token, whatever an agent writes. Passes work on a form where they are asked for
on it (`on_form`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from warpsmith.refactor.base import Answer, Concern, Declined, Rewrite, Rule, Stage, Subject, Tunable, Variant
from warpsmith.refactor.constants import renamed
from warpsmith.spec.comments import used_identifiers

PROPOSALS = "proposals"  # the pass's name, in plans and reports
FORM = "FORM"


@dataclass(frozen=True, slots=True)
class Proposal:
    """One form: branch-free source whose parameters are names, and its launch (expressions as in kernel.toml).

    `number` is its value of FORM, counted over all rounds of a run from 1 on. Its parameters belong to it alone: `names` says
    what those are called in the template whose own names another form, or a pass, has already (`owning`).
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
    names: tuple[tuple[str, str], ...] = ()  # as its author calls a parameter → as the template does, where these differ

    def owning(self, parameters: Collection[str], others: Iterable[Proposal] = ()) -> Proposal:
        """With names that mean nothing else in the template: `TILE`, or `TILE_F3` in form 3 where `TILE` is taken.

        `parameters` are the template's so far, `others` the forms in it. A name that stays with them is another one here, whether
        it is a parameter of this form or not: parameters are macros, which all of the template's text sees.
        """
        own = {tunable.name for tunable in self.tunables}
        identifiers = {*own, *used_identifiers(self.source)}
        elsewhere = frozenset().union(*(used_identifiers(other.source) for other in others))
        taken = {name for name in identifiers if name in parameters or (name in own and name in elsewhere)}
        names = []
        for plain in sorted(taken):
            name = f"{plain}_F{self.number}"
            while name in identifiers or name in elsewhere or name in parameters:
                name += "_"
            names.append((plain, name))
        return replace(self, names=tuple(names))

    @property
    def parameters(self) -> Mapping[str, str]:
        """Every parameter of its own by its name in the template, as its author calls it."""
        renamed_to = dict(self.names)
        return {renamed_to.get(tunable.name, tunable.name): tunable.name for tunable in self.tunables}

    def variant(self, entry: str) -> Variant:
        """As it stands in a template."""
        plain = Variant(self.source, entry, self.grid, self.block, self.shared, self.tunables, self.rules)
        return renamed(plain, dict(self.names))

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
            names=tuple((own, name) for own, name in entry.get("names", ())),
        )


def with_own_names(
    proposals: Iterable[Proposal], parameters: Iterable[str] = (), others: Iterable[Proposal] = ()
) -> list[Proposal]:
    """Forms that enter a template together: of two that use a name the first has it."""
    taken, before = set(parameters), list(others)
    found = []
    for proposal in proposals:
        found.append(proposal.owning(taken, before))
        taken.update(found[-1].parameters)
        before.append(proposal)
    return found


class ProposedForms:
    """All proposals of a run as one pass. It comes before every other, so that it finds the kernel untouched."""

    name = PROPOSALS
    summary = "complete forms of the kernel written by an agent"
    stage = Stage.LIFT
    priority = -100
    concerns = frozenset(Concern)

    def __init__(self, proposals: Sequence[Proposal]) -> None:
        self._proposals = tuple(proposals)

    def apply(self, subject: Subject) -> Answer:
        if not self._proposals:
            return Declined("no form was proposed")
        plain = subject.variant
        forms = {p.number: p.variant(plain.entry) for p in self._proposals}
        said = "; ".join(f"{p.number}: {' '.join(p.hypothesis.split())}" for p in self._proposals)
        choice = Tunable(FORM, (0, *forms), 0, f"form of the kernel; 0: the original; {said}")
        return Rewrite(plain, choice, forms)
