"""Simulated annealing: a walk from neighbour to neighbour that also takes steps uphill, fewer the longer it goes on.

A step is judged by the logarithm of the ratio of the two times, so the temperatures suit every kernel. Configurations tried
before are walked over without being evaluated again, which is what lets the walk leave an exhausted neighbourhood. The budget
is not known, so cooling runs over a fixed number of evaluations; then the walk is heated again and starts from the best
known.
"""

from __future__ import annotations

from math import exp, inf, log

import numpy as np

from warpsmith.search.stepwise import Stepwise
from warpsmith.space import Space

_SCOUTS = 10  # random configurations before the walk; it starts at the best of them
_HOT = 0.15  # a step to a configuration 15 % slower is taken with probability 1/e
_COLD = 0.005
_CYCLE = 60  # evaluations from hot to cold
_ADJACENT = 0.5  # share of steps to adjacent values
_FREE_STEPS = 50  # over known configurations, for each new one


class Annealing(Stepwise):
    def __init__(self, space: Space, rng: np.random.Generator) -> None:
        super().__init__(space, rng)
        self._current: int | None = None
        self._best: int | None = None
        self._scouted = 0
        self._age = 0  # proposals since the walk was last heated
        self._around: tuple[int, list[int], list[int]] | None = None  # the last neighbourhood looked up: free steps stay in it

    def _learn(self, index: int) -> None:
        if self._scores[index] == inf:
            return
        if self._best is None or self._scores[index] < self._scores[self._best]:
            self._best = index
        if self._current is None or self._accepted(index):
            self._current = index

    def _propose(self) -> int | None:
        if self._scouted < _SCOUTS or self._current is None:
            self._scouted += 1
            return self._visits.random()
        self._age += 1
        if self._age >= _CYCLE:
            self._age, self._current = 0, self._best if self._best is not None else self._current
        for _ in range(_FREE_STEPS):
            step = self._step(self._current)
            if step is None:
                break
            if step not in self._visits:
                return step
            if step in self._scores and self._accepted(step):
                self._current = step
        return self._visits.random()

    def _step(self, index: int) -> int | None:
        if self._around is None or self._around[0] != index:
            self._around = (index, *self._space.neighbour_numbers(self._space.row(index)))
        _, near, wide = self._around
        first, second = (near, wide) if self._rng.random() < _ADJACENT else (wide, near)
        pool = first or second
        return pool[int(self._rng.integers(len(pool)))] if pool else None

    def _accepted(self, index: int) -> bool:
        if self._current is None or self._scores[index] <= self._scores[self._current]:
            return True
        if self._scores[index] == inf or self._scores[self._current] <= 0 or self._scouted < _SCOUTS:
            return False
        slower = log(self._scores[index] / self._scores[self._current])
        temperature = _HOT * (_COLD / _HOT) ** (self._age / _CYCLE)
        return bool(self._rng.random() < exp(-slower / temperature))
