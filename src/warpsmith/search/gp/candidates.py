"""The candidates for predictions: the whole of a listable space, a changing sample of a larger one.

The sample of a large space is half chance, half the surroundings of the best configurations so far: every change of one
parameter, and random changes of two or three. What is wanted of the candidates again and again is a sum over columns of a table
looked up at their values; columns are joined into a few groups so that one look-up serves several.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from warpsmith.core.arrays import Array
from warpsmith.search.gp.columns import Columns
from warpsmith.space import Space

LISTED_AT_MOST = 20_000
_SAMPLED = 4_000
_CENTRES = 8
_JUMPS = 250
_GROUP = 4_096
_AT_ONCE = 16  # rows


class Candidates:
    """`numbers` are the space's own, `rows` what the model sees of them."""

    def __init__(self, numbers: list[int], rows: Array, sizes: Sequence[int]) -> None:
        self.numbers = numbers
        self.rows = rows
        self._groups = _groups(sizes)
        self._codes = [_code(rows, group, sizes) for group in self._groups]
        self._places = {number: place for place, number in enumerate(numbers)}

    def __len__(self) -> int:
        return len(self.numbers)

    def place(self, number: int) -> int | None:
        return self._places.get(number)

    def summed(self, tables: Sequence[Array], rows: Array) -> Iterator[tuple[slice, Array]]:
        """For each of `rows` and each candidate, the sum over the columns of `tables[c][row[c], candidate[c]]`.

        In parts, a few rows each: all of them at once would not stay in the cache. The tables are of single precision.
        """
        for begin in range(0, len(rows), _AT_ONCE):
            part = slice(begin, min(begin + _AT_ONCE, len(rows)))
            yield part, self._summed(tables, rows[part])

    def _summed(self, tables: Sequence[Array], rows: Array) -> Array:
        total: Array | None = None
        for group, codes in zip(self._groups, self._codes, strict=True):
            joined = np.zeros((len(rows), 1), dtype=np.float32)
            for column in group:
                joined = (joined[:, :, None] + tables[column][rows[:, column]][:, None, :]).reshape(len(rows), -1)
            found = joined.take(codes, axis=1)
            if total is None:
                total = found
            else:
                total += found
        return np.zeros((len(rows), len(self)), dtype=np.float32) if total is None else total


def all_of(space: Space, columns: Columns) -> Candidates:
    return Candidates(list(range(len(space))), columns.of(space.rows), columns.sizes)


def sampled_from(space: Space, columns: Columns, best: Sequence[int], rng: np.random.Generator) -> Candidates:
    """`best`: numbers of good configurations, the best first."""
    numbers = dict.fromkeys(space.sample(_SAMPLED, rng))
    for number in best[:_CENTRES]:
        row = space.row(number)
        near, wide = space.neighbour_numbers(row)
        numbers.update(dict.fromkeys([*near, *wide]))
        numbers.update(dict.fromkeys(n for n in space.indices(_jumps(row, columns.sizes, rng)).tolist() if n >= 0))
    listed = list(numbers)
    return Candidates(listed, columns.of(space.encoded(listed)), columns.sizes)


def _jumps(row: Array, sizes: tuple[int, ...], rng: np.random.Generator) -> Array:
    """The row with two or three parameters changed at random."""
    rows = np.repeat(row[None, :], _JUMPS, axis=0)
    changed = rng.random(rows.shape).argsort(axis=1)[:, :3]
    values = rng.integers(np.array(sizes[: len(row)])[changed])
    third = rng.random(_JUMPS) < 0.5
    jumps = np.arange(_JUMPS)
    for at, column in enumerate(changed.T):
        moved = jumps if at < 2 else jumps[third]
        rows[moved, column[moved]] = values[moved, at]
    return rows


def _groups(sizes: Sequence[int]) -> list[list[int]]:
    groups: list[list[int]] = []
    combinations = _GROUP
    for column, size in enumerate(sizes):
        if size == 1:
            continue
        if combinations * size > _GROUP:
            groups.append([])
            combinations = 1
        groups[-1].append(column)
        combinations *= size
    return groups


def _code(rows: Array, group: list[int], sizes: Sequence[int]) -> Array:
    code = np.zeros(len(rows), dtype=np.intp)
    for column in group:
        code = code * sizes[column] + rows[:, column]
    return code
