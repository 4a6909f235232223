"""Successive elimination of a template's forms: every form's default first, then equal numbers of tries for forms that keep up.

Each form is a space of its own with a strategy of its own, for its parameters are its own. What an author thinks best is measured
before anything else; a form that stays far behind gets no more of the budget, and why is said.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from warpsmith.core.configuration import Configuration, Value
from warpsmith.core.hardware import Resources
from warpsmith.core.outcome import Evaluation, Measured
from warpsmith.refactor.proposal import FORM
from warpsmith.report.wording import searched_text
from warpsmith.search.base import Foresighted, Strategy
from warpsmith.space import Space

# After so many evaluations a form must have come so near to the fastest, at the better end of its interval. A default may be off
# by more than the structure is worth: the first rung leaves three further tries.
_RUNGS = ((4, 0.5), (8, 0.75), (16, 0.9))
_LUCK = 2.0  # how much faster a configuration may be that was given up too early to have an interval


@dataclass(slots=True)
class _Runner:
    """One form. `tries` were asked for or known; `told` of them are done."""

    number: Value
    space: Space
    strategy: Strategy
    tries: int = 0
    told: int = 0
    best: Measured | None = None
    dropped: str | None = None
    is_exhausted: bool = False
    seen: set[Configuration] = field(default_factory=set)

    @property
    def speed(self) -> float:
        return 0.0 if self.best is None else 1 / self.best.score

    @property
    def hopeful_speed(self) -> float:
        """At the better end of its interval."""
        if self.best is None:
            return 0.0
        interval = self.best.speedup_ci95
        return interval[1] if interval is not None else _LUCK * self.speed


class FormRace:
    """Implements `search.base.Strategy` over the strategies of the forms.

    `before` are the sizes of the forms' spaces in the round before: a form that is new, or that a pass has given more choices
    since then, is judged from its beginning. Without `drops` no form is given up: there is nothing better to spend the rest on.
    """

    def __init__(
        self, space: Space, start: Callable[[Value, Space], Strategy], before: Mapping[Value, int], *, drops: bool = True
    ) -> None:
        numbers = next(parameter.values for parameter in space.parameters if parameter.name == FORM)
        spaces = {number: space.where(FORM, number) for number in numbers}
        self._runners = {n: _Runner(n, found, start(n, found)) for n, found in spaces.items() if found is not None}
        self._grown = {n for n, runner in self._runners.items() if before.get(n) != runner.space.size}
        self._drops = drops
        self._asked = False

    @property
    def sizes(self) -> dict[Value, int]:
        """Of the forms' spaces."""
        return {number: runner.space.size for number, runner in self._runners.items()}

    @property
    def dropped(self) -> dict[Value, str]:
        """The forms that get no more evaluations, and why."""
        return {number: runner.dropped for number, runner in self._runners.items() if runner.dropped is not None}

    def ask(self, n: int = 1) -> list[Configuration]:
        self._begin()
        chosen: list[Configuration] = []
        while len(chosen) < n and (runner := self._next()) is not None:
            configuration = self._of(runner)
            if configuration is None:
                runner.is_exhausted = True
                continue
            runner.seen.add(configuration)
            runner.tries += 1
            chosen.append(configuration)
        return chosen

    def tell(self, evaluation: Evaluation) -> None:
        runner = self._runners.get(_form_of(evaluation.configuration))
        if runner is None:
            return
        runner.strategy.tell(evaluation)
        runner.told += 1
        if evaluation.configuration not in runner.seen:
            runner.seen.add(evaluation.configuration)
            runner.tries += 1
        outcome = evaluation.outcome
        if isinstance(outcome, Measured) and (runner.best is None or outcome.score < runner.best.score):
            runner.best = outcome
        if self._asked:
            self._judge()

    def shortlist(self) -> list[Configuration]:
        self._begin()
        runner = self._next()
        if runner is None or runner.space.default not in runner.seen:
            return []
        return runner.strategy.shortlist() if isinstance(runner.strategy, Foresighted) else []

    def foresee(self, configuration: Configuration, resources: Resources | None) -> None:
        runner = self._runners.get(_form_of(configuration))
        if runner is not None and isinstance(runner.strategy, Foresighted):
            runner.strategy.foresee(configuration, resources)

    # ── whose turn it is ──

    def _begin(self) -> None:
        """What is told before the first question was known before: it counts for forms that are as they were."""
        if self._asked:
            return
        self._asked = True
        for number in self._grown & self._runners.keys():
            runner = self._runners[number]
            runner.tries = runner.told = min(1, runner.told)
        self._judge()

    def _next(self) -> _Runner | None:
        """New forms at their defaults first; then the form with the fewest tries, of several the fastest."""
        racing = [runner for runner in self._runners.values() if runner.dropped is None and not runner.is_exhausted]
        waiting = [runner for runner in racing if runner.space.default not in runner.seen]
        if waiting:
            return waiting[0]
        return min(racing, key=lambda runner: (runner.tries, -runner.speed), default=None)

    def _of(self, runner: _Runner) -> Configuration | None:
        if runner.space.default not in runner.seen:
            return runner.space.default
        while asked := runner.strategy.ask(1):
            if asked[0] not in runner.seen:
                return asked[0]
        return None

    def _judge(self) -> None:
        if not self._drops:
            return
        leader = max(self._runners.values(), key=lambda runner: runner.speed)
        for runner in self._runners.values():
            if runner.dropped is not None or runner is leader:
                continue
            share = max((share for tries, share in _RUNGS if runner.told >= tries), default=0.0)
            if runner.hopeful_speed < share * leader.speed:
                runner.dropped = _why(runner, leader, share)


def _why(runner: _Runner, leader: _Runner, share: float) -> str:
    ahead = f"the fastest, form {leader.number}," if leader.number else "the original's form"
    needed = f"{ahead} has {leader.speed:.2f}x: below {share:.0%} of that after {runner.told} evaluations"
    if runner.best is None:
        return f"none of its configurations was correct; {needed}"
    return f"its best has {searched_text(runner.speed, runner.best.speedup_ci95)} the original's speed, {needed}"


def _form_of(configuration: Configuration) -> Value:
    return configuration.get(FORM, 0)
