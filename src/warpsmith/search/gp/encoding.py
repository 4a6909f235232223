"""How far apart the values of a parameter are: one table of squared distances for each parameter.

Sizes on a GPU act by ratio, so numbers are compared by their logarithm. What also counts is alignment: 48 lies between 32 and
64, but 32 and 64 have more in common, since both are divided by a high power of two. And a value may be special for no reason
that its number shows, so different values are never at distance zero. Values without an order are equally far apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from warpsmith.core.configuration import Value

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

_ALIGNMENT = 0.7
_HIGHEST_POWER = 6  # 64: beyond it, alignment no longer matters to memory or warps
_IDENTITY = 0.3


def distances(values: Sequence[Value]) -> Array:
    """Squared distances between the values: 0 on the diagonal, about 1 between the extremes."""
    different = 1.0 - np.eye(len(values))
    if len(values) < 3 or not all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return different
    numbers = np.array(values, dtype=np.float64)
    table = _squared(_scaled(numbers)) + _IDENTITY * different
    if np.all(numbers > 0) and np.all(numbers == np.floor(numbers)):
        table += _ALIGNMENT * _squared(_powers_of_two(numbers) / _HIGHEST_POWER)
    return table


def _scaled(numbers: Array) -> Array:
    """By ratio where that is defined, by rank otherwise; from 0 to 1."""
    places = np.log2(numbers) if np.all(numbers > 0) else np.unique(numbers, return_inverse=True)[1].astype(np.float64)
    scaled: Array = (places - places.min()) / max(np.ptp(places), 1e-12)
    return scaled


def _powers_of_two(numbers: Array) -> Array:
    integers = numbers.astype(np.int64)
    powers: Array = np.minimum(np.log2(integers & -integers), _HIGHEST_POWER)
    return powers


def _squared(places: Array) -> Array:
    squared: Array = (places[:, None] - places[None, :]) ** 2
    return squared
