"""Does an output equal the oracle's? Exact for integers; |got - expected| <= atol + rtol * |expected| for floats.

NaN equals only NaN and an infinity only itself. Works in chunks that stay in the cache: this runs for every configuration on
every workload, and outputs are large.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from warpsmith.core.arrays import Array
from warpsmith.core.outcome import ArgumentCheck
from warpsmith.verify.arena import FLOAT_POISON

_CHUNK = 1 << 15


@dataclass(slots=True)
class _Worst:
    """The largest error so far: among failing elements if there are any, else among all."""

    error: float = -1.0
    index: int = 0
    failures: int = 0


def compare(
    name: str, workload: str, got: Array, expected: Array, rtol: float, atol: float, *, poisoned: bool = False
) -> ArgumentCheck:
    """Compare an output with `expected`: float64 for floats, else the type of `got`.

    `poisoned`: elements that still have their fill value were not written, and are wrong whatever is expected.
    """
    if got.shape != expected.shape:
        raise ValueError(f"{name}: got shape {got.shape}, expected {expected.shape}")
    flat_got, flat_expected = _flat(got, expected)
    exact = flat_got.dtype.kind in "iub"
    worst = _compared(flat_got, flat_expected, (rtol, atol), poisoned)
    if not got.size:
        return ArgumentCheck(workload, name, passed=True, max_error=0.0)
    where = tuple(int(i) for i in np.unravel_index(worst.index, got.shape))
    shown_got, shown_expected = _shown(flat_got[worst.index]), _shown(flat_expected[worst.index])
    if worst.failures and poisoned and not exact and _is_poison(flat_got[worst.index : worst.index + 1])[0]:
        shown_got = "nothing (not written)"
    problem = ""
    if worst.failures:
        bound = "" if exact else f", tolerance {atol:g} + {rtol:g} * |expected|"
        values = f"worst at {list(where)}: got {shown_got}, expected {shown_expected}"
        problem = f"{worst.failures} of {got.size} elements differ, {values}{bound}"
    return ArgumentCheck(workload, name, not worst.failures, worst.error, where, shown_got, shown_expected, problem)


def count_differing(got: Array, expected: Array, rtol: float, atol: float, *, poisoned: bool = False) -> int:
    """How many elements `compare` would find wrong."""
    return _compared(*_flat(got, expected), (rtol, atol), poisoned).failures


def agree(got: Array, other: Array, rtol: float, atol: float) -> bool:
    """Whether the outputs of two launches are within the tolerance of each other, in their own precision.

    As `compare`, without positions: equal bits always agree.
    """
    if got.dtype.kind in "biu":
        return np.array_equal(got, other)
    flat_got, flat_other, widen = np.ravel(got), np.ravel(other), _widener(got.dtype)
    with np.errstate(invalid="ignore", over="ignore"):
        for start in range(0, flat_got.size, _CHUNK):
            part, beside = flat_got[start : start + _CHUNK], flat_other[start : start + _CHUNK]
            if np.array_equal(part.view(np.uint8), beside.view(np.uint8)):
                continue
            wide, wide_beside = widen(part), widen(beside)
            near = np.abs(wide - wide_beside) <= np.abs(wide_beside) * rtol + atol
            near &= np.isfinite(wide_beside)  # an infinite bound passes everything
            near |= (wide == wide_beside) | (np.isnan(wide) & np.isnan(wide_beside))
            if not near.all():
                return False
    return True


def has_nan(got: Array) -> bool:
    """Whether a kernel wrote a NaN; unwritten elements do not count."""
    flat = got.reshape(-1)
    if flat.dtype.kind in "iub":
        return False
    widen = _widener(flat.dtype)
    return any(bool((np.isnan(widen(part)) & ~_is_poison(part)).any()) for _, part, _ in _chunks(flat, flat))


def _flat(got: Array, expected: Array) -> tuple[Array, Array]:
    if got.dtype == np.bool_:  # a byte that is neither 0 nor 1 is not a bool: compare bytes
        return np.ravel(got).view(np.uint8), np.ravel(expected).view(np.uint8)
    return np.ravel(got), np.ravel(expected)


def _compared(got: Array, expected: Array, tolerance: tuple[float, float], poisoned: bool) -> _Worst:
    exact = got.dtype.kind in "iub"
    return _compare_exact(got, expected) if exact else _compare_floats(got, expected, tolerance, poisoned)


def _compare_floats(got: Array, expected: Array, tolerance: tuple[float, float], poisoned: bool) -> _Worst:
    worst, (rtol, atol) = _Worst(), tolerance
    widen = _widener(got.dtype)
    error, bound = np.empty(_CHUNK), np.empty(_CHUNK)
    with np.errstate(invalid="ignore", over="ignore"):
        for start, got_part, expected_part in _chunks(got, expected):
            size = len(got_part)
            err, bnd = error[:size], bound[:size]
            np.subtract(widen(got_part), expected_part, out=err)
            np.abs(err, out=err)
            largest = float(err.max())
            if not worst.failures and largest <= atol:  # the usual case; false for NaN
                _note(worst, start, err, largest)
                continue
            np.abs(expected_part, out=bnd)
            bnd *= rtol
            bnd += atol
            failed = ~(err <= bnd)
            if failed.any() or math.isinf(largest):
                # Now exactly: equal infinities and NaN on both sides are right; any other NaN is infinitely wrong.
                wide = widen(got_part)
                same = (wide == expected_part) | (np.isnan(wide) & np.isnan(expected_part))
                if poisoned:
                    same &= ~_is_poison(got_part)
                err[same] = 0.0
                failed &= ~same
                err[np.isnan(err)] = math.inf
                failed |= np.isinf(err)  # an infinite expectation has an infinite bound, which a finite value must not pass
                _note_failures(worst, start, err, failed)
            if not worst.failures:
                _note(worst, start, err, float(err.max()))
    return worst


def _compare_exact(got: Array, expected: Array) -> _Worst:
    worst = _Worst(error=0.0)
    for start, got_part, expected_part in _chunks(got, expected):
        failed = got_part != expected_part
        if failed.any():
            err = np.abs(got_part.astype(np.float64) - expected_part.astype(np.float64))
            err[failed & (err == 0.0)] = 1.0  # 64-bit integers can differ by less than float64 tells
            _note_failures(worst, start, err, failed)
    return worst


def _note(worst: _Worst, start: int, error: Array, largest: float) -> None:
    if largest > worst.error:
        worst.error, worst.index = largest, start + int(error.argmax())


def _note_failures(worst: _Worst, start: int, error: Array, failed: Array) -> None:
    count = int(np.count_nonzero(failed))
    if count:
        if not worst.failures:
            worst.error = -1.0
        worst.failures += count
        masked = np.where(failed, error, -1.0)
        _note(worst, start, masked, float(masked.max()))


def _chunks(got: Array, expected: Array) -> Iterator[tuple[int, Array, Array]]:
    for start in range(0, len(got), _CHUNK):
        yield start, got[start : start + _CHUNK], expected[start : start + _CHUNK]


def _widener(dtype: np.dtype[Any]) -> Callable[[Array], Array]:
    """To a type that NumPy computes fast in. Its own casts from bf16 and f8 go element by element; bits and a table do not."""
    if dtype.name == "bfloat16":
        return lambda part: (part.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    if dtype.itemsize == 1:
        table = np.arange(256, dtype=np.uint8).view(dtype).astype(np.float32)
        return lambda part: table[part.view(np.uint8)]
    if dtype == np.float16:
        return lambda part: part.astype(np.float32)
    return lambda part: part


def _is_poison(part: Array) -> Array:
    """Whether an element is unwritten. One-byte types have too few NaN patterns for one that no kernel computes."""
    if part.dtype.itemsize == 1:
        return np.zeros(len(part), np.bool_)
    bits = part.view(f"u{part.dtype.itemsize}")
    unwritten: Array = bits == np.frombuffer(bytes([FLOAT_POISON] * bits.itemsize), bits.dtype)[0]
    return unwritten


def _shown(value: Any) -> str:
    return f"{float(value):.9g}" if np.asarray(value).dtype.kind not in "iub" else str(int(value))
