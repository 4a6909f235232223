"""Several lanes interleaved with the original: the measurements of one process, and their combination.

A lane is what is told apart there: a configuration among the finalists of a run, code among those of a comparison's runs.
Who takes part, and what follows from the figures, is left to `finalists` and `comparison.joint`.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from warpsmith.core.hardware import Reading
from warpsmith.measure.bench import Bench, Candidate
from warpsmith.measure.examined import Examiner
from warpsmith.measure.paired import time_interleaved
from warpsmith.measure.policy import Pace
from warpsmith.measure.roofline import Probed
from warpsmith.measure.statistics import Floats, Ratio, ratio_over_processes, weighted_mean

Lane = TypeVar("Lane", bound=Hashable)


@dataclass(frozen=True, slots=True)
class TimeTable(Generic[Lane]):
    """Times of one process on one workload: `logs[lane]` are log ratios to the original, `median_us[lane]` plain medians."""

    logs: Mapping[Lane, Floats]
    median_us: Mapping[Lane, float]

    def relative(self, lane: Lane) -> float:
        """Its time as a multiple of the original's."""
        return float(np.exp(np.median(self.logs[lane])))


def measure_table(
    bench: Bench,
    workload: str,
    lanes: Mapping[Lane, Candidate],
    original: tuple[Lane, Candidate],
    pace: Pace,
    rng: np.random.Generator,
) -> TimeTable[Lane] | tuple[Lane, ...] | None:
    """Every lane interleaved with the original, which is always in the table; None if a launch failed.

    One round is examined: lanes whose timed launch was wrong are named instead.
    """
    default, baseline = original
    contenders = {lane: candidate for lane, candidate in lanes.items() if lane != default}
    order = [baseline, *contenders.values()]
    draws = [bench.workload(workload).pool.fresh_draw()] * len(order)
    first = bench.time(workload, order, draws, looked_at=False)
    if not isinstance(first, list):
        return None
    rounds = int(np.clip(pace.seconds / (sum(first) / 1e9 + 1e-6), pace.least, pace.most))
    names = (default, *contenders)
    times = time_interleaved(bench, workload, order, rounds, rng, examiner=Examiner(bench, baseline))
    if isinstance(times, tuple):
        return tuple(names[place] for place in times)
    if not isinstance(times, np.ndarray):
        return None
    logs, medians = np.log(times), np.median(times, axis=0) / 1e3
    columns = {lane: at for at, lane in enumerate(names)}
    return TimeTable(
        {lane: logs[:, at] - logs[:, 0] for lane, at in columns.items()},
        {lane: float(medians[at]) for lane, at in columns.items()},
    )


def overall(tables: Mapping[str, TimeTable[Lane]], weights: Mapping[str, float], lane: Lane) -> float:
    """The lane's time as a multiple of the original's, over all workloads with a weight."""
    return weighted_mean({w: tables[w].relative(lane) for w in weights}, weights)


@dataclass(frozen=True, slots=True)
class ProcessMeasurement(Generic[Lane]):
    """What one fresh process measured; `others` is the share of the cores that other programs took meanwhile.

    `reading` is what the device said of its clock right after a claim was timed.
    """

    tables: Mapping[str, TimeTable[Lane]]
    roof_us: Mapping[str, float]
    others: float | None
    reading: Reading | None = None
    probed: Probed | None = None


class Speedups(Generic[Lane]):
    """Over the original, as fresh processes show them. Each interval is drawn once: the one that decides is the one reported."""

    def __init__(self, processes: Sequence[ProcessMeasurement[Lane]], default: Lane, rng: np.random.Generator) -> None:
        self.processes = tuple(processes)
        self.default = default
        self._rng = rng
        self._known: dict[tuple[Lane, Lane, tuple[tuple[str, float], ...]], Ratio] = {}

    def over(self, weights: Mapping[str, float], lane: Lane, beside: Lane | None = None) -> Ratio:
        """The weighted mean of some workloads; over another lane than the original, if one is named."""
        other = self.default if beside is None else beside
        if lane == other:
            return Ratio(1.0, 1.0, 1.0)
        total = sum(weights.values())
        key = lane, other, tuple((name, weight / total) for name, weight in weights.items())
        if key not in self._known:
            logs = [{w: p.tables[w].logs for w in weights} for p in self.processes]
            by_process = [{w: found[w][lane] - found[w][other] for w in weights} for found in logs]
            self._known[key] = ratio_over_processes(by_process, weights, self._rng).inverse
        return self._known[key]

    def median_us(self, workload: str, lane: Lane) -> float:
        return float(np.median([p.tables[workload].median_us[lane] for p in self.processes]))
