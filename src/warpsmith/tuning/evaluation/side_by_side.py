"""Concurrent evaluation on several identical devices, local or remote, behind the interface of one evaluator.

Which of them measured what does not matter: a configuration is timed beside the best so far on the same device, and the ratio
counts. Results are taken in the order in which configurations were begun, so that a run is a function of its outcomes here, too.
A device that is lost costs what it was at: another one is given that.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Protocol, Self

from warpsmith.core.configuration import Configuration
from warpsmith.core.hardware import Resources
from warpsmith.core.outcome import Crashed, Evaluation, Measured, Outcome
from warpsmith.measure.bench import Candidate
from warpsmith.tuning.evaluation.judge import Judgement, Trial
from warpsmith.tuning.evaluation.pace import Pace
from warpsmith.tuning.evaluation.seats import Seat, SeatLost, Seats

# One machine's loss says nothing of what it was at, nor need a second's. Whoever takes three with it is to blame.
_MACHINES_AT_MOST = 3


class Questions(Protocol):
    """What an evaluation needs besides a device: `tuning.evaluation.evaluate.Desk`, or a recording."""

    @property
    def compilers(self) -> int: ...

    def prefetch(self, configuration: Configuration) -> None: ...

    def observe(self, evaluation: Evaluation) -> None: ...

    def resources(self, configurations: Sequence[Configuration]) -> list[Resources | None]: ...

    def built(self, configuration: Configuration) -> Candidate | Outcome: ...

    def trial(self, configuration: Configuration, candidate: Candidate) -> Trial | Measured: ...

    def settled(self, trial: Trial, judgement: Judgement) -> Outcome: ...


class SideBySide:
    """Implements `tuning.rounds.search.Evaluate` and `Inspect`. What is prefetched is begun on the next device that is free.

    Leaving early (an error, Ctrl-C) ends what is under way; leaving in time waits for it, since the benches are needed again.
    """

    def __init__(
        self,
        desk: Questions,
        seats: Sequence[Seat],
        *,
        at_once: int,
        notice: Callable[[str], None] = lambda _: None,
    ) -> None:
        """So many configurations are asked for ahead. `notice` is told of devices that are lost or slow, from any thread."""
        self._desk = desk
        self._all = tuple(seats)
        self._seats = Seats(seats)
        self._notice = notice
        self._pace = Pace()
        self._threads = ThreadPoolExecutor(at_once, "side-by-side")
        self._begun: dict[Configuration, Future[Evaluation]] = {}
        self._asked = 0

    def prefetch(self, configuration: Configuration) -> None:
        self._desk.prefetch(configuration)
        self._asked += 1
        self._begun[configuration] = self._threads.submit(self._evaluated, configuration, self._asked)

    def observe(self, evaluation: Evaluation) -> None:
        self._desk.observe(evaluation)

    @property
    def compilers(self) -> int:
        return self._desk.compilers

    def resources(self, configurations: Sequence[Configuration]) -> list[Resources | None]:
        return self._desk.resources(configurations)

    def __call__(self, configuration: Configuration) -> Evaluation:
        if configuration not in self._begun:
            self.prefetch(configuration)
        return self._begun.pop(configuration).result()

    def _evaluated(self, configuration: Configuration, number: int) -> Evaluation:
        started_at, began = time.time(), time.perf_counter()
        built = self._desk.built(configuration)
        if not isinstance(built, Candidate):
            return Evaluation(configuration, built, time.perf_counter() - began, started_at)
        lost: list[str] = []
        while len(lost) < _MACHINES_AT_MOST:
            seat = self._seats.take(number)
            started_at, began = time.time(), time.perf_counter()  # waiting for a device is nobody's evaluation
            try:
                outcome = self._outcome(seat, configuration, built)
            except SeatLost as error:
                lost += [error.reason] if error.begun else []
                given = "; its evaluation is rescheduled" if error.begun else ""
                self._notice(f"{seat.name} is lost: {error.reason}{given}")
                self._seats.lose(seat, lambda seat: self._notice(f"{seat.name} is back"))
                continue
            except BaseException:
                self._seats.give_back(seat)
                raise
            seconds = time.perf_counter() - began
            self._seats.give_back(seat)
            if isinstance(outcome, Measured) and (times := self._pace.took(seat.name, seconds)) is not None:
                self._notice(f"{seat.name} has become slow: evaluations take {times:.1f} times as long as on others")
            return Evaluation(configuration, outcome, seconds, started_at)
        reason = f"{_MACHINES_AT_MOST} machines failed during this evaluation, the last: {lost[-1]}"
        return Evaluation(configuration, Crashed(reason), time.perf_counter() - began, started_at)

    def _outcome(self, seat: Seat, configuration: Configuration, built: Candidate) -> Outcome:
        asked = self._desk.trial(configuration, built)
        if not isinstance(asked, Trial):
            return asked
        judgement: Judgement = seat.judge(asked)
        return self._desk.settled(asked, judgement)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is not None:
            self._seats.abandon()
            for seat in self._all:
                seat.abandon()
        self._threads.shutdown(wait=True, cancel_futures=True)
