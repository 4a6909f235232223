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

from warpsmith.core.configuration import Configuration
from warpsmith.core.outcome import Evaluation
from warpsmith.search.visits import Visits
from warpsmith.space import Space

_KICKS = 20
# The default suits another device than the one at hand (GPU code on a CPU): a look around beats starting there.
_SCOUTS_AT_MOST = 8
_SPACE_PER_SCOUT = 8


class Local:
    def __init__(self, space: Space, rng: np.random.Generator) -> None:
        self._space = space
        self._rng = rng
        self._visits = Visits(space, rng)
        self._scores: dict[int, float] = {}  # of what was told; a failure is infinitely slow
        self._queue: deque[int] = deque()
        self._descent: set[int] = set()  # proposed since the centre was chosen, and without a result yet
        self._centre: int | None = None
        self._kick_next = True
        start = space.index(space.default)
        scouts = self._rng.choice(len(space), size=min(_SCOUTS_AT_MOST, len(space) // _SPACE_PER_SCOUT), replace=False)
        self._queue = deque([*([] if start is None else [start]), *(int(scout) for scout in scouts)])

    def ask(self, n: int = 1) -> list[Configuration]:
        chosen: list[Configuration] = []
        while len(chosen) < n:
            index = self._next()
            if index is None:
                break
            self._visits.add(index)
            self._descent.add(index)
            chosen.append(self._space[index])
        return chosen

    def tell(self, evaluation: Evaluation) -> None:
        index = self._visits.mark(evaluation.configuration)
        if index is None:
            return
        score = evaluation.score
        self._scores[index] = inf if score is None else score
        self._descent.discard(index)
        if self._centre is None or self._centre not in self._scores:
            return
        # When the centre's own score comes late, neighbours told before it are compared now.
        candidates = [index] if index != self._centre else [i for i in self._neighbours(index) if i in self._scores]
        better = min(candidates, key=self._scores.__getitem__, default=index)
        if self._scores[better] < self._scores[self._centre]:
            self._move(better)

    def _next(self) -> int | None:
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
