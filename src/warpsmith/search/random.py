"""Uniformly random configurations without repetition, the default first: the baseline that a cleverer strategy has to beat."""

from __future__ import annotations

import numpy as np

from warpsmith.core.configuration import Configuration
from warpsmith.core.outcome import Evaluation
from warpsmith.search.visits import Visits
from warpsmith.space import Space


class Random:
    def __init__(self, space: Space, rng: np.random.Generator) -> None:
        self._space = space
        self._visits = Visits(space, rng)
        self._default = space.index(space.default)

    def ask(self, n: int = 1) -> list[Configuration]:
        chosen: list[Configuration] = []
        while len(chosen) < n:
            index = self._default if self._default is not None and self._default not in self._visits else self._visits.random()
            if index is None:
                break
            self._visits.add(index)
            chosen.append(self._space[index])
        return chosen

    def tell(self, evaluation: Evaluation) -> None:
        self._visits.mark(evaluation.configuration)
