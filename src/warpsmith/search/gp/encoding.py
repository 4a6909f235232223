"""Prior knowledge of a parameter's values: their distances, and which suit the hardware badly.

Sizes on a GPU act by ratio, so numbers are compared by their logarithm. What also counts is alignment: 48 lies between 32 and
64, but 32 and 64 have more in common, since both are divided by a high power of two. And a value may be special for no reason
that its number shows, so different values are never at distance zero. Values without an order are equally far apart.

Memory is read in powers of two and threads run in warps of as many: a block of 40 or a tile of 7 leaves lanes idle or loads
apart. So sizes that do not fill them are expected to be somewhat slower, as are values other than those that a parameter's author
finds likely to be fast; a few results to the contrary outweigh that. Likewise blocks of fewer or more threads than kernels are
usually written for: small ones leave a GPU short of warps, large ones take its registers in pieces too big to fill it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from warpsmith.core.arrays import Array
from warpsmith.core.configuration import Value

_ALIGNMENT = 0.7
_HIGHEST_POWER = 6  # 64: beyond it, alignment no longer matters to memory or warps
IDENTITY = 0.3
_WARP = 5  # 32 threads, as a power of two
_HANDICAP = 0.3  # in deviations of the results, for each power of two that is missing or too much
_MISSING_AT_MOST = 2
_USUAL_THREADS = (7, 8)  # 128 and 256, as powers of two
_TOO_MANY = 0.5  # against too few, which leave a GPU idle for sure
_FEWEST_NEIGHBOURS = 3  # 8, as a power of two: a CPU's vector, and the 32 bytes that a GPU's memory delivers at a time, of floats
_FEW_NEIGHBOURS = 0.5  # for each power of two that is missing
WASTED = 1.0  # for each time that what a launch needs is doubled
UNLIKELY = 0.5  # likewise, for a value that is not among those found likely, or a combination that is not


def distances(values: Sequence[Value], identity: float = IDENTITY) -> Array:
    """Squared distances between the values: 0 on the diagonal, `identity` or more beside it, about 1 between the extremes."""
    different = 1.0 - np.eye(len(values))
    if not _are_graded(values):
        return different
    numbers = np.array(values, dtype=np.float64)
    table = between(np.log2(numbers) if np.all(numbers > 0) else _ranks(numbers)) + identity * different
    if _are_sizes(numbers):
        table += _ALIGNMENT * _squared(_powers_of_two(numbers) / _HIGHEST_POWER)
    return table


def between(places: Array) -> Array:
    """Squared distances between places on a line, scaled to its length."""
    return _squared((places - places.min()) / max(np.ptp(places), 1e-12))


def handicaps(values: Sequence[Value], likely: Sequence[Value] = ()) -> Array:
    """How much slower than others each value is expected to be: 0 for powers of two, for whole warps, and for what is no size."""
    unlikely: Array = UNLIKELY * np.array([bool(likely) and value not in likely for value in values])
    numbers = np.array(values, dtype=np.float64) if _are_graded(values) else np.zeros(len(values))
    if not _are_sizes(numbers):
        return unlikely
    missing = np.minimum(np.floor(np.log2(numbers)), _WARP) - np.minimum(_powers_of_two(numbers), _WARP)
    expected: Array = unlikely + _HANDICAP * np.minimum(missing, _MISSING_AT_MOST)
    return expected


def handicaps_of_rows(threads: Array) -> Array:
    """How much slower than others blocks are expected to be in which so many threads follow each other."""
    missing: Array = np.maximum(_FEWEST_NEIGHBOURS - np.log2(np.maximum(threads, 1)), 0.0)
    return _FEW_NEIGHBOURS * missing


def handicaps_of_blocks(threads: Array) -> Array:
    """How much slower than others blocks of so many threads are expected to be."""
    few, many = _USUAL_THREADS
    powers = np.log2(np.maximum(threads, 1))
    away: Array = np.maximum(few - powers, 0.0) + _TOO_MANY * np.maximum(powers - many, 0.0)
    return _HANDICAP * away


def _are_graded(values: Sequence[Value]) -> bool:
    """More of it is more of the same: two values are merely different."""
    return len(values) > 2 and all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def _are_sizes(numbers: Array) -> bool:
    return bool(np.all(numbers > 0) and np.all(numbers == np.floor(numbers)))


def _ranks(numbers: Array) -> Array:
    ranks: Array = np.unique(numbers, return_inverse=True)[1].astype(np.float64)
    return ranks


def _powers_of_two(numbers: Array) -> Array:
    integers = numbers.astype(np.int64)
    powers: Array = np.minimum(np.log2(integers & -integers), _HIGHEST_POWER)
    return powers


def _squared(places: Array) -> Array:
    squared: Array = (places[:, None] - places[None, :]) ** 2
    return squared
