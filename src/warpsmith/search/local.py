"""Greedy local search from many starts.

The default configuration and a few random scouts are tried first. A descent begins at the best of them and tries the neighbours
of its centre: adjacent values first, then any change of one parameter. The first neighbour that beats the centre becomes the new
centre, and the change that led there is tried further. When a neighbourhood holds nothing better, the next descent begins near
the best known configuration (two or three parameters changed) and at a random one in turn. While results are outstanding it goes
on with the neighbours it has, then with random configurations. It ends only when every configuration was proposed.
"""

from __future__ import annotations

from collections import deque
from math import inf

import numpy as np

from warpsmith.search.stepwise import Stepwise
from warpsmith.space import Space

_KICKS = 20
# The default suits another device than the one at hand (GPU code on a CPU): a look around beats starting there.
_SCOUTS_AT_MOST = 15
_SPACE_PER_SCOUT = 8


class Local(Stepwise):
    def __init__(self, space: Space, rng: np.random.Generator) -> None:
        super().__init__(space, rng)
        self._queue = deque(space.sample(min(_SCOUTS_AT_MOST, space.size // _SPACE_PER_SCOUT), rng))
        self._descent: set[int] = set()  # proposed since the centre was chosen, and without a result yet
        self._centre: int | None = None
        self._kick_next = True

    def _next(self) -> int | None:
        index = super()._next()
        if index is not None:
            self._descent.add(index)
        return index

    def _learn(self, index: int) -> None:
        self._descent.discard(index)
        if self._centre is None or self._centre not in self._scores:
            return
        # When the centre's own score comes late, neighbours told before it are compared now.
        candidates = [index] if index != self._centre else [i for i in self._neighbours(index) if i in self._scores]
        better = min(candidates, key=self._scores.__getitem__, default=index)
        if self._scores[better] < self._scores[self._centre]:
            self._move(better)

    def _propose(self) -> int | None:
        while True:
            while self._queue:
                index = self._queue.popleft()
                if index not in self._visits:
                    return index
            if self._descent:
                # Results that may still move the centre are outstanding: meanwhile, look elsewhere.
                return self._visits.random()
            start = self._restart()
            if start is None:
                return None
            self._begin(start)

    def _begin(self, start: int) -> None:
        """A new descent; the start is proposed first unless it was already."""
        self._centre = start
        self._queue = deque([start, *self._shuffled(start)])

    def _move(self, centre: int) -> None:
        """Step to a better configuration, and first try to go on in the same direction."""
        here = self._space.row(centre)
        step = np.sign(here - self._space.row(centre if self._centre is None else self._centre))
        self._centre = centre
        # Stable: apart from what lies ahead, the order stays as it was drawn.
        order = sorted(self._shuffled(centre), key=lambda i: not np.array_equal(np.sign(self._space.row(i) - here), step))
        self._queue = deque(order)

    def _restart(self) -> int | None:
        """At the best scout, the first time; then near the best known configuration and anywhere, in turn."""
        best = self._best()
        if self._centre is None and best is not None:
            return best
        self._kick_next = not self._kick_next
        if not self._kick_next and (kicked := self._kick()) is not None:
            return kicked
        return self._visits.random()

    def _kick(self) -> int | None:
        """The best known configuration with two or three parameters changed; None when no such one is new and feasible."""
        best = self._best()
        parameters = self._space.parameters
        if best is None or len(parameters) < 2:
            return None
        here = self._space.row(best)
        for _ in range(_KICKS):
            row = here.copy()
            count = min(len(parameters), int(self._rng.integers(2, 4)))
            for at in self._rng.choice(len(parameters), size=count, replace=False):
                row[at] = self._rng.integers(len(parameters[at].values))
            index = self._space.index(self._space.decode(row))
            if index is not None and index not in self._visits:
                return index
        return None

    def _best(self) -> int | None:
        return min((i for i, score in self._scores.items() if score < inf), key=self._scores.__getitem__, default=None)

    def _neighbours(self, index: int) -> list[int]:
        near, wide = self._space.neighbour_numbers(self._space.row(index))
        return [*near, *wide]

    def _shuffled(self, index: int) -> list[int]:
        """Adjacent neighbours in random order, then the wider ones in random order."""
        parts = self._space.neighbour_numbers(self._space.row(index))
        return [part[i] for part in parts for i in self._rng.permutation(len(part))]
