"""Every configuration, the default first, then in the space's order."""

from __future__ import annotations

import numpy as np

from warpsmith.core.configuration import Configuration
from warpsmith.core.outcome import Evaluation
from warpsmith.search.visits import Visits
from warpsmith.space import Space


class Exhaustive:
    def __init__(self, space: Space, rng: np.random.Generator) -> None:
        self._space = space
        self._visits = Visits(space, rng)
        self._default = space.index(space.default)
        self._next = 0

    def ask(self, n: int = 1) -> list[Configuration]:
        chosen: list[int] = []
        if self._default is not None and self._default not in self._visits and n > 0:
            chosen.append(self._default)
            self._visits.add(self._default)
        while len(chosen) < n and self._next < self._space.size:
            if self._next not in self._visits:
                chosen.append(self._next)
                self._visits.add(self._next)
            self._next += 1
        return [self._space[index] for index in chosen]

    def tell(self, evaluation: Evaluation) -> None:
        self._visits.mark(evaluation.configuration)
