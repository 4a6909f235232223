"""Differential evolution on the positions of the values, without generations.

Each place of the population holds one configuration. A challenger moves from its place towards one of the best, adds the
difference of two other members (current-to-pbest/1, binomial crossover) and takes the place when it is faster. The step is
drawn anew each time. A parameter whose values have no order takes its value from one of the members instead of a sum.
Challengers that are infeasible or were tried already go to the nearest configuration that is neither.
"""

from __future__ import annotations

from math import inf

import numpy as np

from warpsmith.core.arrays import Array
from warpsmith.search.repair import Repair
from warpsmith.search.stepwise import Stepwise
from warpsmith.space import Space

_POPULATION = 15
_ELITE = 0.1  # share of the population that others move towards
_STEP = (0.4, 0.9)
_CROSSOVER = 0.8


class DifferentialEvolution(Stepwise):
    def __init__(self, space: Space, rng: np.random.Generator) -> None:
        super().__init__(space, rng)
        self._repair = Repair(space, self._visits, rng)
        self._members: list[int] = []  # one number for each place
        self._challenges: dict[int, int] = {}  # outstanding: the challenger's number → its place
        self._founded = 0
        self._turn = 0

    def _learn(self, index: int) -> None:
        place = self._challenges.pop(index, None)
        if index in self._members or self._scores[index] == inf:
            return
        if len(self._members) < _POPULATION:
            self._members.append(index)
            return
        if place is None:  # a founder that came late, or one told unasked: it challenges the weakest
            place = max(range(len(self._members)), key=lambda i: self._scores[self._members[i]])
        if self._scores[index] < self._scores[self._members[place]]:
            self._members[place] = index

    def _propose(self) -> int | None:
        if self._founded < _POPULATION or len(self._members) < 4:
            self._founded += 1
            return self._visits.random()
        place = self._turn % len(self._members)
        self._turn += 1
        here = self._space.row(self._members[place])
        number = self._repair.nearest(self._challenger(place, here), anchor=here)
        if number is not None:
            self._challenges[number] = place
        return number

    def _challenger(self, place: int, here: Array) -> Array:
        ranked = sorted(self._members, key=self._scores.__getitem__)
        elite = ranked[: max(1, round(_ELITE * len(ranked)))]
        others = [member for i, member in enumerate(self._members) if i != place]
        best = self._space.row(elite[int(self._rng.integers(len(elite)))])
        plus, minus = (self._space.row(others[int(i)]) for i in self._rng.choice(len(others), size=2, replace=False))
        step = self._rng.uniform(*_STEP)
        moved = here + step * (best - here) + step * (plus - minus)
        # Positions are whole: rounding at random keeps short steps alive.
        moved = np.floor(moved + self._rng.random(len(here))).astype(np.int64)
        picked = np.choose(self._rng.integers(3, size=len(here)), [best, plus, here])
        crossed = self._rng.random(len(here)) < _CROSSOVER
        return np.where(crossed, np.where(self._repair.ordered, moved, picked), here)
