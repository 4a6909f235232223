"""The search itself: ask, evaluate, record, tell. Knows nothing of devices, so recorded outcomes drive it as well as live ones.

A run is a function of its strategy, of what that learnt from earlier runs, of its seed and of its outcomes. Resuming therefore
means running the same loop again with the recorded evaluations at hand: what is recorded is told, not repeated, and the loop goes
on where it stopped.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, runtime_checkable

from warpsmith.core.configuration import Configuration
from warpsmith.core.hardware import Resources
from warpsmith.core.outcome import Evaluation
from warpsmith.search.base import Foresighted, Strategy
from warpsmith.tuning.budget import Budget

# So many compile the few that a strategy chooses among as soon as one alone. With fewer, knowing more costs what it gains: time.
_COMPILERS_TO_LOOK_AHEAD = 4


def asked_ahead(at_once: int) -> int:
    """How many configurations are asked for ahead where so many are evaluated at once: these, and some more for the compilers.

    The more there are, the less often a device waits, and the less the strategy knows when it chooses. One device alone lends its
    cores to compilers while it waits: one is waited for, one compiles on its cores, one on the compilers' own.
    """
    return 3 if at_once == 1 else at_once + at_once // 2


def asked_ahead_of_machines(at_once: int) -> int:
    """As `asked_ahead` for many machines.

    Answers are taken in the order of the questions, and one takes many times as long as another: of 64 devices that replayed six
    recorded GPU spaces, half stood idle with half as many again asked for ahead, and less than a tenth with four times as many.
    """
    return 4 * at_once


class Evaluate(Protocol):
    def prefetch(self, configuration: Configuration) -> None:
        """Begin what can be done ahead (compiling) without waiting."""
        ...

    def observe(self, evaluation: Evaluation) -> None:
        """Learn of a finished evaluation, new or recorded, in order."""
        ...

    def __call__(self, configuration: Configuration) -> Evaluation: ...


@runtime_checkable
class Inspect(Protocol):
    """An `Evaluate` that can say what compiling tells; recorded outcomes cannot."""

    @property
    def compilers(self) -> int:
        """How many configurations it compiles at once."""
        ...

    def resources(self, configurations: Sequence[Configuration]) -> list[Resources | None]:
        """By the compiler, for each; None for what does not compile or cannot run. Waits for all of them."""
        ...


def search(
    strategy: Strategy,
    evaluate: Evaluate,
    *,
    budget: Budget,
    recorded: Mapping[Configuration, Evaluation],
    record: Callable[[Evaluation], None],
    report: Callable[[int, Evaluation, bool], None],
    elapsed_s: Callable[[], float],
    known: Sequence[Evaluation] = (),
    lookahead: int = 2,
) -> list[Evaluation]:
    """Run to the end of the budget or of the space. `lookahead` configurations are asked for ahead, so that compilers keep busy.

    `known` was evaluated without being asked for: it is told before the first question, and does not count.
    The number asked ahead is fixed, so the sequence of asks and tells (and with it the run) does not depend on timing.
    """
    done: list[Evaluation] = []
    queue: deque[Configuration] = deque()
    for evaluation in known:
        evaluate.observe(evaluation)
        strategy.tell(evaluation)
    while not budget.spent(len(done), elapsed_s()):
        room = lookahead if budget.evaluations is None else min(lookahead, budget.evaluations - len(done))
        if len(queue) < room:
            _look_ahead(strategy, evaluate)
            asked = strategy.ask(room - len(queue))
            queue.extend(asked)
            for configuration in asked:
                if configuration not in recorded:
                    evaluate.prefetch(configuration)
        if not queue:
            break
        configuration = queue.popleft()
        before = recorded.get(configuration)
        evaluation = before if before is not None else evaluate(configuration)
        if before is None:
            record(evaluation)
        done.append(evaluation)
        evaluate.observe(evaluation)
        strategy.tell(evaluation)
        report(len(done), evaluation, before is not None)
    return done


def _look_ahead(strategy: Strategy, evaluate: Evaluate) -> None:
    """Compile what the strategy would choose among. A compiler says the same again, so a resumed run goes the same way."""
    if isinstance(strategy, Foresighted) and isinstance(evaluate, Inspect) and evaluate.compilers >= _COMPILERS_TO_LOOK_AHEAD:
        while wanted := strategy.shortlist():
            for configuration, resources in zip(wanted, evaluate.resources(wanted), strict=True):
                strategy.foresee(configuration, resources)
