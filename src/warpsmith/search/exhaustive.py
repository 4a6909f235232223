"""Every configuration, the default first, then in the space's order."""

from __future__ import annotations

import numpy as np

from warpsmith.search.stepwise import Stepwise
from warpsmith.space import Space


class Exhaustive(Stepwise):
    def __init__(self, space: Space, rng: np.random.Generator) -> None:
        super().__init__(space, rng)
        self._place = 0

    def _propose(self) -> int | None:
        while self._place < self._space.size:
            index = self._place
            self._place += 1
            if index not in self._visits:
                return index
        return None
