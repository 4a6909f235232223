"""NumPy shortcuts for operations on 64-bit integers.

Each takes int64 arrays and plain integers (at least one array, none empty) and returns an array, or None where the result might
not fit or does not exist: then the definitions in `operations` decide, row by row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from warpsmith.core.arrays import Array
from warpsmith.core.expression.operations import MAX_EXPONENT, MAX_SHIFT

Shortcut: TypeAlias = Callable[..., Array | None]


class _Range(NamedTuple):
    min: int
    max: int


INT64 = _Range(-(2**63), 2**63 - 1)


def _bounds(value: Any) -> tuple[int, int]:
    return (int(value.min()), int(value.max())) if isinstance(value, np.ndarray) else (value, value)


def _magnitude(value: Any) -> int:
    low, high = _bounds(value)
    return max(-low, high, 0)


def _safe(bound: int, compute: Callable[[], Array]) -> Array | None:
    return compute() if bound <= INT64.max else None


def _divisible(b: Any, a: Any) -> bool:
    nonzero = b.all() if isinstance(b, np.ndarray) else b != 0
    return bool(nonzero) and int(a.min() if isinstance(a, np.ndarray) else a) > INT64.min


def _power(a: Any, b: Any) -> Array | None:
    low, high = _bounds(b)
    if low < 0 or high > MAX_EXPONENT:
        return None
    return _safe(_magnitude(a) ** high, lambda: np.power(a, b, dtype=np.int64))


def _shift_left(a: Any, b: Any) -> Array | None:
    low, high = _bounds(b)
    if low < 0 or high > MAX_SHIFT:
        return None
    return _safe(_magnitude(a) << high, lambda: np.left_shift(a, b, dtype=np.int64))


def _shift_right(a: Any, b: Any) -> Array | None:
    low, high = _bounds(b)
    # A shift by 63 leaves the sign, as every longer one does; by 64 it would be undefined in C.
    return None if low < 0 or high > MAX_SHIFT else np.right_shift(a, np.minimum(b, 63), dtype=np.int64)


def _floor_divide(a: Any, b: Any) -> Array | None:
    return np.floor_divide(a, b) if _divisible(b, a) else None


def _ceildiv(a: Any, b: Any) -> Array | None:
    return -np.floor_divide(-a, b) if _divisible(b, a) else None


def _round_up(a: Any, b: Any) -> Array | None:
    if not _divisible(b, a):
        return None
    return _safe(_magnitude(a) + _magnitude(b), lambda: -np.floor_divide(-a, b) * b)


def _round_down(a: Any, b: Any) -> Array | None:
    if not _divisible(b, a):
        return None
    return _safe(_magnitude(a) + _magnitude(b), lambda: np.floor_divide(a, b) * b)


def _fold(function: Callable[[Any, Any], Array]) -> Shortcut:
    def shortcut(*values: Any) -> Array | None:
        result, *rest = values
        for value in rest:
            result = function(result, value)
        return np.asarray(result)

    return shortcut


UNARY: dict[str, Shortcut] = {
    "-": lambda a: _safe(_magnitude(a), lambda: np.negative(a)),
    "~": np.invert,
}
BINARY: dict[str, Shortcut] = {
    "+": lambda a, b: _safe(_magnitude(a) + _magnitude(b), lambda: a + b),
    "-": lambda a, b: _safe(_magnitude(a) + _magnitude(b), lambda: a - b),
    "*": lambda a, b: _safe(_magnitude(a) * _magnitude(b), lambda: a * b),
    "/": _floor_divide,
    "//": _floor_divide,
    "%": lambda a, b: np.remainder(a, b) if _divisible(b, a) else None,
    "**": _power,
    "<<": _shift_left,
    ">>": _shift_right,
    "&": np.bitwise_and,
    "|": np.bitwise_or,
    "^": np.bitwise_xor,
}
COMPARE: dict[str, Shortcut] = {
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}
FUNCTIONS: dict[str, Shortcut] = {
    "min": _fold(np.minimum),
    "max": _fold(np.maximum),
    "abs": lambda a: _safe(_magnitude(a), lambda: np.abs(a)),
    "ceildiv": _ceildiv,
    "divides": lambda a, b: np.remainder(b, a) == 0 if _divisible(a, b) else None,
    "round_up": _round_up,
    "round_down": _round_down,
    "is_pow2": lambda a: (a > 0) & ((a & (a - 1)) == 0) if _bounds(a)[0] > INT64.min else None,
    "gcd": lambda *values: _fold(np.gcd)(*values) if all(_bounds(v)[0] > INT64.min for v in values) else None,
    "int": lambda a: a,
}
