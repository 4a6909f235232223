"""Allocation of the remaining budget: first equal, then by expected gain. Deterministic.

What a search gains falls off with its length, about as the logarithm: so the gain of its second half is what doubling it may
bring again. One that gained nothing lately may sit in a dead end far from what the machine allows; so some part of that distance
is expected of everybody.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

# Of each stage: how much of what is left. Each costs every kernel a start, so they are few.
STAGES = (0.5, 0.5, 1.0)
LAST = len(STAGES)
_PART_OF_DISTANCE = 0.1  # to the roofline, on the log scale, that doubling a search brings at least
_LEAST_DISTANCE = math.log(1.05)
_DISTANCE_UNKNOWN = math.log(1.5)
_WORTH_SAYING = 0.005
_STEPS = 500  # into which time is divided


@dataclass(frozen=True, slots=True)
class Standing:
    """How a search stands.

    `spent` are evaluations or seconds; `scores` those of the evaluations in order, time over the original's, infinite for
    failures; `fraction` is the part of the roofline that its best has, where that is known.
    """

    place: int
    spent: float
    scores: Sequence[float]
    fraction: float | None = None
    exhausted: bool = False  # it ended before its share was spent

    @property
    def lately(self) -> float:
        """Log of what the second half of the evaluations gained."""
        half = max(1, len(self.scores) // 2)
        return math.log(_best(self.scores[:half]) / _best(self.scores))

    @property
    def distance(self) -> float:
        """Log of what there is to gain at most. A roofline is measured, too: at or above it there may still be a little."""
        return _DISTANCE_UNKNOWN if self.fraction is None else max(_LEAST_DISTANCE, -math.log(self.fraction))

    @property
    def expected(self) -> float:
        """Log of the gain by as much again as was spent."""
        return 0.0 if self.exhausted else max(self.lately, _PART_OF_DISTANCE * self.distance)

    @property
    def reason(self) -> str:
        if self.exhausted:
            return "the space is exhausted"
        gained = math.expm1(self.lately)
        words = f"gain in its second half: {gained:.0%}" if gained >= _WORTH_SAYING else "no gain in its second half"
        return words if self.fraction is None else f"{words}; at {self.fraction:.0%} of the roofline"


def equal_shares(places: Sequence[int], budget: float, *, whole: bool) -> dict[int, float]:
    """`whole`: integer shares."""
    each = budget / max(1, len(places))
    return dict.fromkeys(places, math.floor(each) if whole else each)


def shares_by_gain(standings: Sequence[Standing], budget: float, *, whole: bool) -> dict[int, float]:
    """More for each so that the sum of the expected gains is the greatest: each step goes where it brings most."""
    shares = dict.fromkeys((s.place for s in standings), 0.0)
    step = 1.0 if whole else budget / _STEPS
    queue = [(-_gain(s, 0.0, step), s.place, s) for s in standings if s.expected > 0]
    heapq.heapify(queue)
    left = budget
    while queue and left >= step * 0.999:  # sums of floats
        _, place, standing = heapq.heappop(queue)
        shares[place] += step
        left -= step
        heapq.heappush(queue, (-_gain(standing, shares[place], step), place, standing))
    return shares


def _gain(standing: Standing, had: float, step: float) -> float:
    """Of one step more, where doubling brings `expected`."""
    spent = max(1.0, standing.spent)
    return standing.expected * math.log2((spent + had + step) / (spent + had))


def in_proportion(shares: Mapping[int, float], other: float) -> dict[int, float]:
    """Another limit, shared out likewise."""
    total = sum(shares.values())
    return {place: other * share / total if total else 0.0 for place, share in shares.items()}


def _best(scores: Sequence[float]) -> float:
    """The original counts, whose score is 1."""
    return min(1.0, *scores) if scores else 1.0
