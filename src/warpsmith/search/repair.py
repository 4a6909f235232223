"""Repairs a point of the Cartesian product to a nearby feasible configuration that was not proposed yet.

Crossover, differences of vectors and outside samplers suggest points that break constraints or were tried before. The nearest
new configuration is looked for, without listing the space, in this order: the point itself; one parameter changed; on the way
from a feasible configuration towards the point; a few parameters changed; anywhere.
"""

from __future__ import annotations

import numpy as np

from warpsmith.core.arrays import Array
from warpsmith.search.visits import Visits
from warpsmith.space import Space

_SHAKES = 64


class Repair:
    def __init__(self, space: Space, visits: Visits, rng: np.random.Generator) -> None:
        self._space = space
        self._visits = visits
        self._rng = rng
        self.sizes = np.array([len(p.values) for p in space.parameters], dtype=np.int64)
        self.ordered = np.array([all(_is_number(value) for value in p.values) for p in space.parameters], dtype=bool)
        self._changed = np.repeat(np.arange(len(self.sizes)), self.sizes)
        self._values = np.concatenate([np.arange(size) for size in self.sizes]) if len(self.sizes) else np.zeros(0, np.int64)

    def nearest(self, target: Array, anchor: Array | None = None) -> int | None:
        """The number of a new configuration near `target`; None when all were proposed. `anchor`: a feasible one to walk from."""
        if not len(self.sizes):
            return self._visits.random()
        target = np.clip(target, 0, self.sizes - 1)
        found = self._closest_new(self._with_one_changed(target), target)
        if found is None and anchor is not None:
            found = self._walk(anchor, target)
        for count in (2, 3):
            if found is None and len(self.sizes) >= count:
                found = self._closest_new(self._with_some_changed(target, count), target)
        return self._visits.random() if found is None else found

    def distance(self, rows: Array, target: Array) -> Array:
        """Each parameter counts up to 1: by the distance in its list of values, or fully where these have no order."""
        steps = np.abs(rows - target) / np.maximum(self.sizes - 1, 1)
        total: Array = np.where(self.ordered, steps, steps > 0).sum(axis=-1)
        return total

    def _walk(self, anchor: Array, target: Array) -> int | None:
        """From feasible to feasible, always nearer to the target; the last new one seen is the nearest."""
        here, best = anchor, None
        while True:
            rows = self._with_one_changed(here)
            rows = rows[self._space.indices(rows) >= 0]
            away = self.distance(rows, target)
            ahead = rows[away < self.distance(here, target) - 1e-9]
            if not len(ahead):
                return best if best is not None else self._closest_new(rows, target)
            new = self._closest_new(ahead, target)
            best = new if new is not None else best
            here = ahead[self.distance(ahead, target).argmin()]

    def _closest_new(self, rows: Array, target: Array) -> int | None:
        numbers = self._space.indices(rows)
        keep = [at for at, number in enumerate(numbers) if number >= 0 and int(number) not in self._visits]
        if not keep:
            return None
        away = self.distance(rows[keep], target)
        ties = np.flatnonzero(away <= away.min() + 1e-9)
        return int(numbers[keep[int(self._rng.choice(ties))]])

    def _with_one_changed(self, row: Array) -> Array:
        """Every change of one parameter, and the row itself."""
        rows = np.repeat(row[None, :], len(self._changed), axis=0)
        rows[np.arange(len(rows)), self._changed] = self._values
        return rows

    def _with_some_changed(self, row: Array, count: int) -> Array:
        rows = np.repeat(row[None, :], _SHAKES, axis=0)
        at = self._rng.random((_SHAKES, len(self.sizes))).argpartition(count - 1, axis=1)[:, :count]
        rows[np.arange(_SHAKES)[:, None], at] = self._rng.integers(self.sizes[at])
        return rows


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
