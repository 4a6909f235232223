"""Rotation of the first and second half of each head (the NeoX way)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def rotary_embedding(
    positions: NDArray[np.int64], query: NDArray[Any], key: NDArray[Any], cos_sin_cache: NDArray[Any], rot: int
) -> dict[str, NDArray[np.float64]]:
    table = cos_sin_cache[positions].astype(np.float64)[:, None]
    half = rot // 2
    cos, sin = table[..., :half], table[..., half:]

    def rotated(x: NDArray[Any]) -> NDArray[np.float64]:
        result = x.astype(np.float64)
        first, second = result[..., :half].copy(), result[..., half:rot].copy()
        result[..., :half], result[..., half:rot] = first * cos - second * sin, second * cos + first * sin
        return result

    return {"query": rotated(query), "key": rotated(key)}
