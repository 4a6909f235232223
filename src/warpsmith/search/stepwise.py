"""Base of strategies that propose one configuration at a time: the default first, nothing twice, and the scores so far.

A subclass says which configuration comes next (`_propose`) and may react to a score (`_learn`). Whatever is outstanding,
`_propose` always has an answer until the space is exhausted; so a batch is simply several proposals, and results may come
late and in any order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import inf

import numpy as np

from warpsmith.core.configuration import Configuration
from warpsmith.core.outcome import Evaluation
from warpsmith.search.visits import Visits
from warpsmith.space import Space


class Stepwise(ABC):
    def __init__(self, space: Space, rng: np.random.Generator) -> None:
        self._space = space
        self._rng = rng
        self._visits = Visits(space, rng)
        self._scores: dict[int, float] = {}  # of what was told, by number; a failure is infinitely slow
        self._default = space.index(space.default)

    def ask(self, n: int = 1) -> list[Configuration]:
        chosen: list[Configuration] = []
        while len(chosen) < n and (index := self._next()) is not None:
            self._visits.add(index)
            chosen.append(self._space[index])
        return chosen

    def tell(self, evaluation: Evaluation) -> None:
        index = self._visits.mark(evaluation.configuration)
        if index is None:
            return
        score = evaluation.score
        self._scores[index] = inf if score is None else score
        self._learn(index)

    def _next(self) -> int | None:
        if self._default is not None and self._default not in self._visits:
            return self._default
        return self._propose()

    @abstractmethod
    def _propose(self) -> int | None:
        """The number of a configuration not proposed yet; None only when there is none."""

    def _learn(self, index: int) -> None:  # noqa: B027 - not every strategy keeps more than the scores
        """A score arrived."""
