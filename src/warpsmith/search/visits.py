"""The configurations proposed so far, and random new ones."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from warpsmith.core.configuration import Configuration
from warpsmith.space import Space

# Below this share of unvisited configurations, drawing until one is new takes too many draws.
_CROWDED = 0.2


class Visits:
    def __init__(self, space: Space, rng: np.random.Generator) -> None:
        self._space = space
        self._rng = rng
        self._seen: set[int] = set()
        self._order: list[int] = []
        self._rest: list[int] | None = None

    def __len__(self) -> int:
        return len(self._seen)

    def __iter__(self) -> Iterator[int]:
        return iter(self._seen)

    def __contains__(self, index: int) -> bool:
        return index in self._seen

    def add(self, index: int) -> None:
        if index not in self._seen:
            self._seen.add(index)
            self._order.append(index)

    def since(self, count: int) -> list[int]:
        """Those after the first `count`, in the order in which they came."""
        return self._order[count:]

    def mark(self, configuration: Configuration) -> int | None:
        """Note a configuration by its value, as from an evaluation; None when it is not of this space."""
        index = self._space.index(configuration)
        if index is not None:
            self.add(index)
        return index

    @property
    def exhausted(self) -> bool:
        return len(self._seen) >= self._space.size

    def random(self) -> int | None:
        """Some configuration not proposed yet, each as likely; None when there is none. The caller adds it."""
        size = self._space.size  # unlike len(), without bound
        if self.exhausted:
            return None
        if self._rest is None and len(self._seen) <= (1 - _CROWDED) * size:
            while True:
                (index,) = self._space.sample(1, self._rng)
                if index not in self._seen:
                    return index
        if self._rest is None:
            self._rest = [int(index) for index in self._rng.permutation(size) if int(index) not in self._seen]
        while self._rest[-1] in self._seen:
            self._rest.pop()
        return self._rest[-1]
