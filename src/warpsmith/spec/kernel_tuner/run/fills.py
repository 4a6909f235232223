"""Infers from an array's values how they were drawn, as a kernel.toml `init`.

A distribution is accepted if the values pass a Kolmogorov-Smirnov test. That distinguishes uniform from normal values from
about thirty elements on; for fewer it is a guess.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import ndtr

from warpsmith.spec.kernel_tuner.problem import ArrayFill

_SAMPLE = 20_000
_FEWEST = 8
_CRITICAL = 1.95  # times 1/sqrt(n): one array in a thousand that was drawn so is not seen to be
_MOST_ALIKE = 4.0  # times 1/sqrt(n): the correlation of neighbours
_END_GAPS = 12  # how many mean gaps the largest value may lie below the end that it was drawn from


def fill_of(array: np.ndarray[Any, Any]) -> ArrayFill:
    flat = array.ravel(order="K")  # as it lies in memory: no copy
    is_one = flat.size > 0 and flat[0] == 1 and (flat == 1).all()
    kinds = {"zeros": not flat.any(), "ones": is_one, "arange": _is_arange(flat)}
    known = next((kind for kind, holds in kinds.items() if holds), None)
    if known is not None:
        return ArrayFill(known)
    values = flat[:_SAMPLE].astype(np.float64)
    if values.size < _FEWEST or not np.isfinite(values).all() or _is_in_order(values):
        return ArrayFill()
    values.sort()
    if array.dtype.kind in "iub":
        return ArrayFill("permutation") if _is_permutation(flat) else _whole(values, flat)
    gap = float(flat.max() - flat.min()) / flat.size
    low, high = 0.0 - _round_up(-float(flat.min()), gap), _round_up(float(flat.max()), gap)
    distances = {
        "uniform": _distance(values, np.clip((values - low) / (high - low), 0, 1)) if low < high else 1.0,
        "normal": _distance(values, ndtr(values)),
    }
    kind = min(distances, key=distances.__getitem__)
    if distances[kind] > _CRITICAL / math.sqrt(values.size):
        return ArrayFill()
    return ArrayFill("uniform", low, high) if kind == "uniform" else ArrayFill("normal")


def _is_arange(flat: np.ndarray[Any, Any]) -> bool:
    return flat.size > 2 and bool(flat[0] == 0) and bool(flat[1] == 1) and bool((flat == np.arange(flat.size)).all())


def _is_permutation(flat: np.ndarray[Any, Any]) -> bool:
    is_possible = flat.size > 2 and flat.min() == 0 and flat.max() == flat.size - 1
    return is_possible and bool((np.bincount(flat, minlength=flat.size) == 1).all())


def _is_in_order(values: np.ndarray[Any, Any]) -> bool:
    """Whether neighbours are similar, as in a ramp, a cumulative sum or a picture: random values are not."""
    spread = values - values.mean()
    total = float((spread * spread).sum())
    return total == 0 or float((spread[1:] * spread[:-1]).sum()) / total > _MOST_ALIKE / math.sqrt(values.size)


def _whole(values: np.ndarray[Any, Any], flat: np.ndarray[Any, Any]) -> ArrayFill:
    """The bounds are the observed ones: a larger number could be an out-of-bounds index."""
    low, high = int(flat.min()), int(flat.max()) + 1
    below = np.searchsorted(values, values, side="right") / values.size
    expected = (values - low + 1) / (high - low)  # the part of what can be drawn that is no larger
    is_drawn = np.abs(below - expected).max() < _CRITICAL / math.sqrt(values.size)
    return ArrayFill("randint", low, high) if is_drawn else ArrayFill()


def _distance(values: np.ndarray[Any, Any], expected: np.ndarray[Any, Any]) -> float:
    """The Kolmogorov-Smirnov distance. `values` are sorted, `expected` is the distribution's share below each."""
    steps = np.arange(values.size + 1) / values.size
    return float(max(np.abs(expected - steps[:-1]).max(), np.abs(expected - steps[1:]).max()))


def _round_up(value: float, gap: float) -> float:
    """The number with the fewest digits that is not below the value, and so close that no other such number lies between."""
    if value == 0 or gap <= 0:
        return value
    exponent = math.floor(math.log10(max(abs(value), gap)))
    for digits in range(-1, 9):
        step = 10.0 ** (exponent - digits)
        found = math.ceil(value / step - 1e-9) * step
        if found - value <= _END_GAPS * gap:
            return round(found, max(0, digits - exponent)) + 0.0
    return value
