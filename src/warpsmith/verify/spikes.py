"""Sparse inputs: in each row of the last axis two elements at random places dominate.

A sample of similar values predicts their sum or mean within a tolerance, so a kernel could skip most of them. In an almost-zero
row it cannot; but zeros would give the test away, so every other row keeps what `init` asks for. To find the dominant elements,
the whole row must be read.
"""

from __future__ import annotations

import math

import numpy as np

from warpsmith.core.arrays import Array
from warpsmith.core.dtype import DType

_MOST_BITS = {DType.F16: 7, DType.F8E4M3: 3, DType.F8E5M2: 7}  # so that squares fit
_LEAST_BITS, _MOST_BITS_ELSEWHERE = 7, 30
_SHARE = 2  # of what a row comes to: so large that it shows in a mean, and no larger, or the rest is rounded away
_OUTSTANDING = 32  # times the largest element


def with_spikes(values: Array, dtype: DType, rng: np.random.Generator) -> Array:
    """A power of two and its half in each row, half a row apart.

    Rows are often two halves that belong together: this way neither half has the mean of the whole. One in four is at an end. A
    buffer of one row keeps its other values.
    """
    extent = values.shape[-1] if values.ndim else 1
    rows = values.reshape(-1, extent).copy() if values.size else values.reshape(0, max(extent, 1)).copy()
    count = len(rows)
    places, ends, parity = rng.integers(0, max(extent, 1), count), rng.integers(0, 4, count), int(rng.integers(0, 2))
    places[ends == 0], places[ends == 1] = 0, extent - 1
    spike = _spike(rows, dtype)
    if count > 1:
        rows[parity::2] = 0
    rows[np.arange(count), places] = spike
    rows[np.arange(count), (places + extent // 2) % max(extent, 1)] = spike / 2
    return rows.reshape(values.shape)


def _spike(rows: Array, dtype: DType) -> float:
    most = _MOST_BITS.get(dtype, _MOST_BITS_ELSEWHERE)
    if not rows.size:
        return 2.0**most
    largest = float(np.abs(rows.astype(np.float32, copy=False)).max())
    totals = float(np.abs(rows.astype(np.float32, copy=False).sum(axis=1, dtype=np.float64)).max())
    wanted = max(_OUTSTANDING * largest, totals / _SHARE)
    bits = math.ceil(math.log2(wanted)) if math.isfinite(wanted) and wanted > 0 else 0
    return float(2.0 ** min(most, max(_LEAST_BITS, bits)))
