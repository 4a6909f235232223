"""The result of a replay: best-so-far curves, and their means over seeds and spaces with 95 % intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from warpsmith.record.foreign import Recording
from warpsmith.replay.plan import ReplayPlan, ReplayTrial
from warpsmith.replay.trial import Trace

Floats: TypeAlias = NDArray[np.float64]

CHECKPOINTS = (25, 50, 100, 200)
_RESAMPLES = 2000


@dataclass(frozen=True, slots=True)
class Figure:
    """A mean over seeds; the interval is missing where there is only one."""

    mean: float
    interval: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class Cell:
    """One strategy on one space: a row for each seed, a column for each evaluation.

    `fraction` is optimum / best so far: 1 is the optimum, 0 means that nothing valid was found yet. Where a space ends before
    the budget does, its last values are repeated. `seconds` is the simulated tuning time up to and including the evaluation.
    """

    space: str
    strategy: str
    fraction: Floats
    seconds: Floats
    evaluated: tuple[tuple[int, ...], ...]
    overhead_ms: float


@dataclass(frozen=True, slots=True)
class ReplayResult:
    plan: ReplayPlan
    recordings: Mapping[str, Recording]
    cells: tuple[Cell, ...]

    @property
    def checkpoints(self) -> tuple[int, ...]:
        last = self.plan.evaluations
        return (*(n for n in CHECKPOINTS if n < last), last)

    def at(self, space: str | None, strategy: str, evaluations: int) -> Figure:
        """The fraction of the optimum by number of evaluations; averaged over all spaces if none is named."""
        return mean_over_seeds(self.by_seed(space, strategy)[:, evaluations - 1])

    def by_seed(self, space: str | None, strategy: str) -> Floats:
        """Best-so-far curves, a row for each seed; the mean over all spaces when none is named."""
        chosen = [c.fraction for c in self.cells if c.strategy == strategy and space in (None, c.space)]
        averaged: Floats = np.mean(np.stack(chosen), axis=0)
        return averaged

    def as_dict(self) -> dict[str, Any]:
        """The object that `warpsmith replay --json` prints."""
        plan, warm = self.plan, self.plan.warm
        return {
            "evaluations": plan.evaluations,
            "seeds": plan.seeds,
            "at_once": plan.at_once,
            "warm": None if warm is None else {"source": warm.name, "evaluations": warm.evaluations},
            "average": [
                {"strategy": s, "spaces": len(plan.files), "seeds": plan.seeds, **self._figures(None, s)} for s in plan.strategies
            ],
            "spaces": [
                {"space": c.space, "strategy": c.strategy, "seeds": plan.seeds, **self._figures(c.space, c.strategy)}
                | {"overhead_ms": round(c.overhead_ms, 3), "simulated_s": round(float(c.seconds[:, -1].mean()), 3)}
                for c in self.cells
            ],
            "recordings": [_about(recording) for recording in self.recordings.values()],
        }

    def _figures(self, space: str | None, strategy: str) -> dict[str, Any]:
        figures = {str(n): self.at(space, strategy, n) for n in self.checkpoints}
        return {
            "fraction": {n: round(figure.mean, 6) for n, figure in figures.items()},
            "interval": {n: figure.interval and [round(end, 6) for end in figure.interval] for n, figure in figures.items()},
        }


def _about(recording: Recording) -> dict[str, Any]:
    return {
        "space": recording.name,
        "kernel": recording.kernel,
        "device": recording.device,
        "objective": recording.objective.name,
        "optimum": recording.optimum,
        "configurations": len(recording.space),
        "failed": recording.failures,
        "left_out": recording.left_out,
        "notes": list(recording.notes),
    }


def collect(plan: ReplayPlan, recordings: Mapping[str, Recording], traces: Mapping[ReplayTrial, Trace]) -> ReplayResult:
    cells = [
        _cell(plan, recordings[space], strategy, [traces[ReplayTrial(space, strategy, seed)] for seed in range(plan.seeds)])
        for space in plan.files
        for strategy in plan.strategies
    ]
    return ReplayResult(plan, recordings, tuple(cells))


def _cell(plan: ReplayPlan, recording: Recording, strategy: str, traces: Sequence[Trace]) -> Cell:
    length = plan.evaluations
    numbers = [np.array(trace.numbers, dtype=np.int64) for trace in traces]
    fraction = [recording.best_score / np.minimum.accumulate(recording.scores[n]) for n in numbers]
    seconds = [_known_after(recording.seconds[n], plan.at_once) for n in numbers]
    each_ms = [trace.strategy_s / max(len(trace.numbers), 1) * 1e3 for trace in traces]
    return Cell(
        recording.name,
        strategy,
        np.stack([_continued(curve, length) for curve in fraction]),
        np.stack([_continued(curve, length) for curve in seconds]),
        tuple(trace.numbers for trace in traces),
        float(np.mean(each_ms)),
    )


def _known_after(seconds: Floats, at_once: int) -> Floats:
    """When each result is taken: in the order of the questions, of which the next is asked when one of `at_once` is answered."""
    if at_once == 1:
        return np.cumsum(seconds)
    known = np.zeros(len(seconds))
    for at, each in enumerate(seconds):
        began = known[at - at_once] if at >= at_once else 0.0
        known[at] = max(began + each, known[at - 1] if at else 0.0)
    return known


def _continued(curve: Floats, length: int) -> Floats:
    return np.concatenate([curve, np.full(length - len(curve), curve[-1] if len(curve) else 0.0)])


def mean_over_seeds(values: Floats) -> Figure:
    interval = interval_over_seeds(values[:, None])
    return Figure(float(values.mean()), None if interval is None else (float(interval[0][0]), float(interval[1][0])))


def interval_over_seeds(by_seed: Floats) -> tuple[Floats, Floats] | None:
    """The 95 % bootstrap interval of each column's mean over the rows; None when there is only one row.

    The resampling has a seed of its own, so the same values give the same interval.
    """
    seeds = len(by_seed)
    if seeds < 2:
        return None
    # How often each row is drawn, so that all columns are resampled in one product.
    weights = np.random.default_rng(0).multinomial(seeds, np.full(seeds, 1 / seeds), size=_RESAMPLES) / seeds
    low, high = np.quantile(weights @ by_seed, [0.025, 0.975], axis=0)
    return low, high
