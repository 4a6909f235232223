"""One trial: a strategy on a recording. A pure function of recording, strategy and seed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from warpsmith.core.configuration import Configuration
from warpsmith.core.outcome import Evaluation
from warpsmith.record.foreign import Recording
from warpsmith.search.base import Prior
from warpsmith.search.registry import start_strategy
from warpsmith.tuning.budget import Budget
from warpsmith.tuning.rounds.search import search


class ReplayStopped(Exception):  # noqa: N818 - reads as the fact it states
    """The caller requested a stop."""


@dataclass(frozen=True, slots=True)
class Trace:
    """The configurations evaluated, by number and in order; and the time that the strategy itself took, learning included."""

    numbers: tuple[int, ...]
    strategy_s: float


class RecordedEvaluator:
    """Looks outcomes up instead of measuring them, and remembers which."""

    def __init__(self, recording: Recording, stopped: Callable[[], bool]) -> None:
        self._recording = recording
        self._stopped = stopped
        self.numbers: list[int] = []

    def prefetch(self, configuration: Configuration) -> None: ...

    def observe(self, evaluation: Evaluation) -> None: ...

    def __call__(self, configuration: Configuration) -> Evaluation:
        if self._stopped():
            raise ReplayStopped
        number = self._recording.space.index(configuration)
        if number is None:
            raise ValueError(f"the strategy proposed ({configuration}), which is not in {self._recording.name}")
        self.numbers.append(number)
        return self._recording.evaluation(number)


def run_trial(
    recording: Recording,
    strategy: str,
    rng: np.random.Generator,
    *,
    evaluations: int,
    prior: Prior | None = None,
    at_once: int = 1,
    stopped: Callable[[], bool] = lambda: False,
) -> Trace:
    evaluate = RecordedEvaluator(recording, stopped)
    began = time.perf_counter()
    search(
        start_strategy(strategy, recording.space, rng, () if prior is None else (prior,)),
        evaluate,
        budget=Budget(evaluations),
        recorded={},
        record=lambda _: None,
        report=lambda *_: None,
        elapsed_s=lambda: 0.0,
        lookahead=at_once,
    )
    return Trace(tuple(evaluate.numbers), time.perf_counter() - began)


def prior_from(
    source: Recording, strategy: str, rng: np.random.Generator, evaluations: int, stopped: Callable[[], bool] = lambda: False
) -> Prior:
    """What somebody would have kept who ran the same strategy on the source; a short record is used whole."""
    if len(source.space) <= evaluations:
        return Prior(source.name, source.evaluations)
    trace = run_trial(source, strategy, rng, evaluations=evaluations, stopped=stopped)
    return Prior(source.name, tuple(source.evaluation(number) for number in trace.numbers))
