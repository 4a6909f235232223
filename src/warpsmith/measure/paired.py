"""Times one candidate beside the incumbent: launches in random order, ratios of neighbours, as few as the answer needs."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from warpsmith.measure.bench import Bench, BenchFailure, Candidate
from warpsmith.measure.statistics import Ratio, paired_ratio


@dataclass(frozen=True, slots=True)
class PairPlan:
    """When to stop. Clear losers are dropped after `quick_pairs`; close calls go on until the interval is tight."""

    quick_pairs: int = 3
    step_pairs: int = 6
    max_pairs: int = 24
    beaten_above: float = 1.10
    hopeless_above: float = 3.0  # no noise explains this: one pair is enough
    tight_half_width: float = 0.02
    max_seconds: float = 0.3


@dataclass(frozen=True, slots=True)
class PairedTime:
    ratio: Ratio  # candidate / incumbent
    candidate_us: float
    launches: int


def time_beside(
    bench: Bench, workload: str, candidate: Candidate, incumbent: Candidate, *, plan: PairPlan, rng: np.random.Generator
) -> PairedTime | BenchFailure:
    began = time.perf_counter()
    warm_up = bench.time(workload, [incumbent, candidate])
    if not isinstance(warm_up, list):
        return warm_up
    if warm_up[1] > plan.hopeless_above * warm_up[0]:
        return PairedTime(Ratio(warm_up[1] / warm_up[0], 0.0, math.inf), warm_up[1] / 1e3, 1)
    ours: list[int] = []
    theirs: list[int] = []
    pairs = plan.quick_pairs
    while True:
        answer = _launch_pairs(bench, workload, (candidate, incumbent), pairs, rng)
        if not isinstance(answer, tuple):
            return answer
        ours += answer[0]
        theirs += answer[1]
        ratio = paired_ratio(ours, theirs, rng)
        beaten = min(np.divide(ours, theirs)) > plan.beaten_above
        settled = len(ours) >= plan.max_pairs or ratio.half_width < plan.tight_half_width
        if beaten or settled or time.perf_counter() - began > plan.max_seconds:
            return PairedTime(ratio, float(np.median(ours)) / 1e3, len(ours))
        pairs = min(plan.step_pairs, plan.max_pairs - len(ours))


def _launch_pairs(
    bench: Bench, workload: str, pair: tuple[Candidate, Candidate], count: int, rng: np.random.Generator
) -> tuple[list[int], list[int]] | BenchFailure:
    flips = rng.integers(0, 2, size=count)
    sequence: list[Candidate] = []
    for flip in flips:
        sequence += [pair[flip], pair[1 - flip]]
    times = bench.time(workload, sequence)
    if not isinstance(times, list):
        return times
    first = [times[2 * i + flip] for i, flip in enumerate(flips)]
    second = [times[2 * i + 1 - flip] for i, flip in enumerate(flips)]
    return first, second


def time_interleaved(
    bench: Bench, workload: str, candidates: Sequence[Candidate], rounds: int, rng: np.random.Generator
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]] | BenchFailure:
    """Launch every candidate once a round, each round in a new random order; times in ns, one row a round."""
    warm_up = bench.time(workload, candidates)
    if not isinstance(warm_up, list):
        return warm_up
    orders = [rng.permutation(len(candidates)) for _ in range(rounds)]
    times = bench.time(workload, [candidates[i] for order in orders for i in order])
    if not isinstance(times, list):
        return times
    table = np.empty((rounds, len(candidates)))
    for row, order in enumerate(orders):
        table[row, order] = times[row * len(candidates) : (row + 1) * len(candidates)]
    return table
