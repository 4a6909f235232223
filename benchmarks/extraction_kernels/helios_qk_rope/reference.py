"""Rotation of adjacent pairs; cosines and sines lie in two halves of one table."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def helios_qk_rope(q: NDArray[Any], k: NDArray[Any], freqs: NDArray[Any]) -> dict[str, NDArray[np.float64]]:
    dim = q.shape[-1]
    cos = freqs.astype(np.float64)[:, None, 0:dim:2]
    sin = freqs.astype(np.float64)[:, None, dim + 1 :: 2]

    def rotated(x: NDArray[Any]) -> NDArray[np.float64]:
        even, odd = x[..., 0::2].astype(np.float64), x[..., 1::2].astype(np.float64)
        return np.stack([even * cos - odd * sin, even * sin + odd * cos], axis=-1).reshape(x.shape)

    return {"q": rotated(q), "k": rotated(k)}
