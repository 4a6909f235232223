"""Rotation of adjacent pairs in float64, by tables that repeat each angle."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def interleaved_rope(
    q: NDArray[Any], k: NDArray[Any], cos: NDArray[np.float64], sin: NDArray[np.float64]
) -> dict[str, NDArray[np.float64]]:
    c, s = cos[None, :, None, 0::2], sin[None, :, None, 1::2]

    def rotated(x: NDArray[Any]) -> NDArray[np.float64]:
        even, odd = x[..., 0::2].astype(np.float64), x[..., 1::2].astype(np.float64)
        return np.stack([even * c - odd * s, even * s + odd * c], axis=-1).reshape(x.shape)

    return {"q_out": rotated(q), "k_out": rotated(k)}
