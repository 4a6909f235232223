"""Times one candidate interleaved with the incumbent: random order, ratios of neighbours, as few launches as the decision
needs.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from warpsmith.core.outcome import Verdict
from warpsmith.measure.bench import Bench, BenchFailure, Candidate
from warpsmith.measure.examined import Examiner, KeptLaunch, of_timed_launch, time_keeping
from warpsmith.measure.policy import DISTURBANCE_NS, PairPlan
from warpsmith.measure.statistics import Ratio, paired_ratio

Times: TypeAlias = np.ndarray[tuple[int, int], np.dtype[np.float64]]


@dataclass(frozen=True, slots=True)
class PairedTime:
    ratio: Ratio  # candidate / incumbent
    candidate_us: float
    launches: int


@dataclass(frozen=True, slots=True)
class WrongLaunch:
    """A timed launch was wrong: the candidate's, or the incumbent's paired with it."""

    verdict: Verdict
    is_incumbents: bool = False


def time_beside(
    bench: Bench,
    workload: str,
    candidate: Candidate,
    incumbent: Candidate,
    *,
    examiner: Examiner,
    plan: PairPlan,
    rng: np.random.Generator,
) -> PairedTime | WrongLaunch | BenchFailure:
    began = time.perf_counter()
    pairs = _Pairs(bench, workload, candidate, incumbent, examiner, rng)
    for warm_up in (1, 2):
        times = bench.time(workload, [incumbent, candidate], pairs.draws(1), looked_at=False)
        if not isinstance(times, list):
            return times
        over = times[1] - plan.hopeless_above * times[0]
        if over <= 0:
            break
        # A disturbed launch must not eliminate a candidate.
        if warm_up == 2 or over > DISTURBANCE_NS:
            return PairedTime(Ratio(times[1] / times[0], 0.0, math.inf), times[1] / 1e3, warm_up)
    number = plan.quick_pairs
    while True:
        # Slow candidates gain nothing by cheating: the first pairs are not examined; every candidate that continues is.
        failed = pairs.launch(number, examined=bool(pairs.ours))
        if failed is not None:
            return failed
        ratio = paired_ratio(pairs.ours, pairs.theirs, rng)
        launched = len(pairs.ours)
        beaten = min(np.divide(pairs.ours, pairs.theirs)) > plan.beaten_above
        settled = launched >= plan.max_pairs or ratio.half_width < plan.tight_half_width
        is_over = settled or time.perf_counter() - began > plan.max_seconds
        if beaten or (is_over and pairs.are_examined):
            return PairedTime(ratio, float(np.median(pairs.ours)) / 1e3, launched)
        number = 1 if is_over else min(plan.step_pairs, plan.max_pairs - launched)


class _Pairs:
    """Paired launches of two candidates, both of a pair on the same inputs, in nanoseconds."""

    def __init__(
        self,
        bench: Bench,
        workload: str,
        candidate: Candidate,
        incumbent: Candidate,
        examiner: Examiner,
        rng: np.random.Generator,
    ) -> None:
        self._bench = bench
        self._workload = workload
        self._pair = candidate, incumbent
        self._examiner = examiner
        self._rng = rng
        self._are_same = candidate.identity == incumbent.identity
        self.are_examined = self._are_same
        self.ours: list[int] = []
        self.theirs: list[int] = []

    def draws(self, pairs: int) -> list[int]:
        pool = self._bench.workload(self._workload).pool
        return [draw for _ in range(pairs) for draw in [pool.fresh_draw()] * 2]

    def launch(self, count: int, *, examined: bool) -> WrongLaunch | BenchFailure | None:
        """Launch more pairs, one of which is examined if any is; None if all passed."""
        flips = self._rng.integers(0, 2, size=count)
        sequence = [candidate for flip in flips for candidate in (self._pair[flip], self._pair[1 - flip])]
        chosen = int(self._rng.integers(count))
        keep = {2 * chosen, 2 * chosen + 1} if examined and not self._are_same else set()
        answer = time_keeping(self._bench, self._workload, sequence, self.draws(count), keep, trusted=self._pair[1], briefly=True)
        if not isinstance(answer, tuple):
            return answer
        times, kept = answer
        self.ours += [times[2 * i + flip] for i, flip in enumerate(flips)]
        self.theirs += [times[2 * i + 1 - flip] for i, flip in enumerate(flips)]
        if not keep:
            return None
        self.are_examined = True
        flip = flips[chosen]
        return self._judged(kept[2 * chosen + flip], kept[2 * chosen + 1 - flip])

    def _judged(self, ours: KeptLaunch, theirs: KeptLaunch) -> WrongLaunch | None:
        if self._examiner.agree(self._workload, ours, theirs):
            return None
        candidate, incumbent = self._pair
        if (verdict := self._examiner.wrong(self._workload, candidate, ours)) is not None:
            return WrongLaunch(of_timed_launch(verdict))
        if (verdict := self._examiner.wrong(self._workload, incumbent, theirs)) is not None:
            return WrongLaunch(of_timed_launch(verdict), is_incumbents=True)
        return None


def time_interleaved(
    bench: Bench,
    workload: str,
    candidates: Sequence[Candidate],
    rounds: int,
    rng: np.random.Generator,
    *,
    examiner: Examiner | None = None,
) -> Times | tuple[int, ...] | BenchFailure:
    """Launch every candidate once per round, each round in a new random order on new inputs; times in ns, one row a round.

    With an examiner, one round is examined, compared with the first candidate: the answer may then be the positions of wrong
    ones.
    """
    pool = bench.workload(workload).pool
    warm_up = bench.time(workload, candidates, [pool.fresh_draw()] * len(candidates), looked_at=False)
    if not isinstance(warm_up, list):
        return warm_up
    count = len(candidates)
    orders = [rng.permutation(count) for _ in range(rounds)]
    draws = [draw for _ in orders for draw in [pool.fresh_draw()] * count]
    examined = int(rng.integers(rounds)) if examiner is not None and count > 1 else None
    keep = range(examined * count, (examined + 1) * count) if examined is not None else ()
    sequence = [candidates[i] for order in orders for i in order]
    answer = time_keeping(bench, workload, sequence, draws, keep, trusted=candidates[0])
    if not isinstance(answer, tuple):
        return answer
    times, kept = answer
    if examiner is not None and examined is not None:
        launches = {int(i): kept[examined * count + place] for place, i in enumerate(orders[examined])}
        if wrong := _wrong(examiner, workload, candidates, launches):
            return wrong
    table = np.empty((rounds, count))
    for row, order in enumerate(orders):
        table[row, order] = times[row * count : (row + 1) * count]
    return table


def _wrong(
    examiner: Examiner, workload: str, candidates: Sequence[Candidate], launches: Mapping[int, KeptLaunch]
) -> tuple[int, ...]:
    doubtful = [i for i in range(1, len(candidates)) if not examiner.agree(workload, launches[i], launches[0])]
    return tuple(i for i in doubtful if examiner.wrong(workload, candidates[i], launches[i]) is not None)
