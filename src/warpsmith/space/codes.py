"""Numbering of things that are equal: columns of values, combinations of codes, rows of small tables.

Construction merges partial configurations that mean the same for all that follows; here is what "the same" costs. A code is a
number from 0 up to a known span. All results depend on the codes alone, so they are the same on every machine.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from warpsmith.core.arrays import Array

# Codes below this many per element are numbered by looking them up in a table instead of by sorting.
_DENSE = 4
# Fewer elements than this are sorted by Python sooner than NumPy has begun.
_FEW = 64
_SPAN_LIMIT = 2**62


def numbered(codes: Array, span: int) -> tuple[Array, Array]:
    """Where each distinct code first occurs, in ascending order, and each element's place in that order."""
    if span > _DENSE * len(codes) + 1024:
        if len(codes) < _FEW:
            found = codes.tolist()
            order = sorted(set(found))
            where = {code: place for place, code in enumerate(order)}
            return np.array([found.index(code) for code in order], dtype=np.int64), np.array([where[code] for code in found])
        _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
        return first, inverse
    seen = np.full(span, -1, dtype=np.int64)
    seen[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)  # of repeated codes the last assignment, the first occurrence, stays
    present = np.flatnonzero(seen >= 0)
    places = np.empty(span, dtype=np.int64)
    places[present] = np.arange(len(present))
    return seen[present], places[codes]


def combined(columns: Iterable[tuple[Array, int]], length: int) -> tuple[Array, int]:
    """One code, and the span of such codes, for each combination of the columns' codes, given with their spans."""
    codes: Array = np.zeros(length, dtype=np.int64)
    span = 1
    for column, size in columns:
        if span * size > _SPAN_LIMIT:
            first, codes = numbered(codes, span)
            span = len(first)
        codes = codes * size + column if span > 1 else column
        span *= size
    return codes, span


def value_codes(values: Array) -> tuple[Array, int]:
    """Codes for a column of values. Values of different types differ: 1, 1.0 and true mean different things to a division."""
    if values.dtype.kind == "b":
        return values.astype(np.int64), 2
    if values.dtype.kind == "O":
        known: dict[Any, int] = {}
        codes = np.array([known.setdefault((type(v), v), len(known)) for v in values.tolist()], dtype=np.int64)
        return codes, len(known)
    if values.dtype.kind in "iu" and len(values):
        low, high = int(values.min()), int(values.max())
        if high - low < _DENSE * len(values) + 1024:
            return values - low, high - low + 1
    distinct, inverse = np.unique(values, return_inverse=True)
    return inverse, len(distinct)


def distinct_rows(table: Array, span: int) -> tuple[Array, Array]:
    """The distinct rows of a table of codes from -1 to span - 1, and each row's place among them, -1 for rows of only -1."""
    width = table.shape[1]
    if table.size < _FEW * 4:
        known: dict[tuple[int, ...], int] = {}
        none = (-1,) * width
        rows = map(tuple, table.tolist())
        found = [-1 if row == none else known.setdefault(row, len(known)) for row in rows]
        return np.array(list(known), dtype=table.dtype).reshape(len(known), width), np.array(found, dtype=np.int64)
    if (span + 1) ** width <= _SPAN_LIMIT:
        weights = (span + 1) ** np.arange(width, dtype=np.int64)
        keys = (table + 1) @ weights
        empty = keys == 0
        first, inverse = numbered(keys, (span + 1) ** width)
    else:
        # Too wide to pack: hashed, and checked.
        weights = np.random.default_rng(0).integers(1, 2**63, size=width, dtype=np.int64)
        empty = ~np.any(table >= 0, axis=1)
        with np.errstate(over="ignore"):
            keys = (table.astype(np.int64) + 1) @ weights
        _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        if not np.array_equal(table[first][inverse], table):
            _, first, inverse = np.unique(table, axis=0, return_index=True, return_inverse=True)
    if not empty.any():
        return table[first], inverse
    alive = ~empty[first]
    places = np.where(alive, alive.cumsum() - 1, -1)
    return table[first[alive]], places[inverse]
