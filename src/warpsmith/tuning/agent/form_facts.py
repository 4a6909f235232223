"""Measurements of each form: its default, its best, and a few informative configurations.

Parameters are called as who wrote the form calls them, and only those are named that have a choice in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from warpsmith.core.configuration import Configuration, Value
from warpsmith.core.outcome import Evaluation
from warpsmith.refactor.proposal import FORM, Proposal
from warpsmith.search.importance import Importance, importance_of
from warpsmith.source.lane_strides import Access
from warpsmith.space import Space

_BEST, _MOST_ROWS, _MOST_FAILED = 4, 12, 2
# Below it a model of so few results says more about itself than about the parameters.
_TELLING_R2 = 0.5


@dataclass(frozen=True, slots=True)
class FormFacts:
    """`values` gives a configuration in the form's own words. `rows` are few: the best, the worst, the best with each value."""

    number: int
    evaluations: int
    default: Evaluation | None
    best: Evaluation | None  # of those that were measured
    rows: tuple[Evaluation, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)  # of the parameters with a choice: the template's name → the form's
    importance: Importance | None = None
    accesses: tuple[Access, ...] = ()

    def values(self, evaluation: Evaluation) -> dict[str, Value]:
        return {plain: evaluation.configuration[name] for name, plain in self.names.items()}


def form_facts(
    space: Space, known: Sequence[Evaluation], proposals: Sequence[Proposal], accesses: Callable[[int], tuple[Access, ...]]
) -> tuple[FormFacts, ...]:
    """Of the kernel itself (0) and of every form in the template."""
    written = {proposal.number: proposal for proposal in proposals}
    forms = next((parameter.values for parameter in space.parameters if parameter.name == FORM), None)
    if forms is None or not set(forms) <= {0, *written}:
        return (_facts_of(0, space, known, None, accesses(0)),)
    found = []
    for number in map(int, forms):
        part = space.where(FORM, number)
        own = [e for e in known if e.configuration.get(FORM, 0) == number]
        if part is not None:
            found.append(_facts_of(number, part, own, written.get(number), accesses(number)))
    return tuple(found)


def _facts_of(
    number: int, space: Space, known: Sequence[Evaluation], form: Proposal | None, accesses: tuple[Access, ...]
) -> FormFacts:
    choices = {name: values for name, values in space.occurring_values().items() if len(values) > 1}
    own = form.parameters if form is not None else {}
    names = {name: own.get(name, name.removesuffix(f"_F{number}") if number else name) for name in choices}
    if len(set(names.values())) < len(names):  # one of a pass that the form's author has, too
        names = {name: own.get(name, name) for name in choices}
    measured = sorted((e for e in known if e.score is not None), key=_order)
    importance = importance_of(space, known) if len(choices) > 1 else None
    return FormFacts(
        number,
        len(known),
        next((e for e in known if e.configuration == space.default), None),
        measured[0] if measured else None,
        _telling(measured, [e for e in known if e.score is None], tuple(names)),
        names,
        importance if isinstance(importance, Importance) and importance.r2 >= _TELLING_R2 else None,
        accesses,
    )


def _order(evaluation: Evaluation) -> tuple[float, str]:
    return evaluation.score or 0.0, evaluation.configuration.key


def _telling(measured: Sequence[Evaluation], failed: Sequence[Evaluation], names: Sequence[str]) -> tuple[Evaluation, ...]:
    """The best few, the best with each value of each parameter, the worst, and the last that failed; the fastest first."""
    chosen: dict[Configuration, Evaluation] = {e.configuration: e for e in (*measured[:_BEST], *measured[-1:])}
    for name in names:
        seen: set[Value] = set()
        for evaluation in measured:
            value = evaluation.configuration[name]
            if value not in seen and len(chosen) < _MOST_ROWS:
                chosen.setdefault(evaluation.configuration, evaluation)
            seen.add(value)
    return (*sorted(chosen.values(), key=_order), *failed[-_MOST_FAILED:])
