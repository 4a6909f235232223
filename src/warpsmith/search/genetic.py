"""A steady-state genetic algorithm: every new configuration is bred from the best ones known at that moment.

The population is the best configurations told so far. Two parents are chosen by tournament, each parameter is taken from
either of them (uniform crossover), and some are mutated: to an adjacent value or to any. A child that is infeasible or was
tried already is replaced by the nearest configuration that is neither. There are no generations to wait for, so results may
come one by one.
"""

from __future__ import annotations

from bisect import insort
from math import inf

import numpy as np

from warpsmith.core.arrays import Array
from warpsmith.search.repair import Repair
from warpsmith.search.stepwise import Stepwise
from warpsmith.space import Space

_FOUNDERS = 20  # random configurations to start from
_POPULATION = 20
_TOURNAMENT = 3
_MUTATIONS = 1.0  # parameters of a child, on average
_ADJACENT = 0.5  # share of mutations that go to an adjacent value


class Genetic(Stepwise):
    def __init__(self, space: Space, rng: np.random.Generator) -> None:
        super().__init__(space, rng)
        self._repair = Repair(space, self._visits, rng)
        self._population: list[tuple[float, int]] = []  # (score, number), the best first
        self._founded = 0

    def _learn(self, index: int) -> None:
        self._population = [member for member in self._population if member[1] != index]
        if self._scores[index] < inf:
            insort(self._population, (self._scores[index], index))
            del self._population[_POPULATION:]

    def _propose(self) -> int | None:
        if self._founded < _FOUNDERS or len(self._population) < 2:
            self._founded += 1
            return self._visits.random()
        first, second = self._parents()
        mother, father = self._space.row(first), self._space.row(second)
        child = np.where(self._rng.random(len(mother)) < 0.5, mother, father)
        return self._repair.nearest(self._mutated(child), anchor=mother)

    def _parents(self) -> tuple[int, int]:
        """Two different members, the better one first."""
        places: set[int] = set()
        while len(places) < 2:
            places.add(int(self._rng.integers(len(self._population), size=_TOURNAMENT).min()))
        better, worse = sorted(places)
        return self._population[better][1], self._population[worse][1]

    def _mutated(self, row: Array) -> Array:
        sizes = self._repair.sizes
        changed = self._rng.random(len(row)) < _MUTATIONS / max(len(row), 1)
        near = self._repair.ordered & (self._rng.random(len(row)) < _ADJACENT)
        step = row + np.where(self._rng.random(len(row)) < 0.5, 1, -1)
        anywhere = self._rng.integers(sizes) if len(row) else row
        return np.where(changed, np.where(near, np.clip(step, 0, sizes - 1), anywhere), row)
