"""`Listing`: a set of configurations as a sorted table of positions. Owns looking rows up by number, and numbers by row."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import prod

import numpy as np

from warpsmith.core.arrays import Array


class Listing:
    """`rows` has one column per parameter, holding positions in its value list; `sizes` are the lengths of those lists."""

    def __init__(self, sizes: Sequence[int], rows: Array) -> None:
        self._sizes = tuple(sizes)
        rows = np.asarray(rows, dtype=np.int32)
        keys = self._keys_of(rows)
        _, first = np.unique(keys, return_index=True)
        self._keys: Array = keys[first]
        self._table: Array = rows[first]

    @property
    def size(self) -> int:
        return len(self._table)

    def row(self, number: int) -> Array:
        found: Array = self._table[number].copy()
        return found

    def rows(self, numbers: Array) -> Array:
        found: Array = self._table[np.asarray(numbers, dtype=np.int64)]
        return found

    def occurring(self) -> list[Array]:
        return [np.unique(column) for column in self._table.T]

    def listed(self) -> Array:
        return self._table

    def number(self, row: Array) -> int:
        return int(self.numbers(row[None, :])[0])

    def numbers(self, rows: Array) -> Array:
        """The number of each row, -1 for those that are not in the table."""
        rows = np.asarray(rows)
        wanted = self._keys_of(rows)
        if not self.size:
            return np.full(len(wanted), -1, dtype=np.int64)
        places = np.searchsorted(self._keys, wanted)
        possible = np.all((rows >= 0) & (rows < np.array(self._sizes, dtype=np.int64)), axis=1)
        found: Array = np.where(possible & (self._keys[np.minimum(places, self.size - 1)] == wanted), places, -1)
        return found

    @cached_property
    def _weights(self) -> Array:
        # Beyond 64 bits Python's integers do, slower.
        kind = np.int64 if prod(self._sizes) < 2**63 else object
        return np.array([prod(self._sizes[i + 1 :]) for i in range(len(self._sizes))], dtype=kind)

    def _keys_of(self, rows: Array) -> Array:
        """The rows' places in the whole product: ascending keys are rows in lexicographic order."""
        if not self._sizes:
            return np.zeros(len(rows), dtype=np.int64)
        keys: Array = rows.astype(self._weights.dtype) @ self._weights
        return keys
