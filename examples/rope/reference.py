"""Rotary position embedding in float64: the oracle for rope."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def rope(
    q: NDArray[Any], k: NDArray[Any], cos_sin: NDArray[np.float32], positions: NDArray[np.int32]
) -> dict[str, NDArray[np.float64]]:
    angles = cos_sin[positions].astype(np.float64)[:, None, :]
    return {"q_out": _rotated(q, angles), "k_out": _rotated(k, angles)}


def _rotated(x: NDArray[Any], angles: NDArray[np.float64]) -> NDArray[np.float64]:
    half = x.shape[-1] // 2
    first, second = x[..., :half].astype(np.float64), x[..., half:].astype(np.float64)
    cos, sin = angles[..., :half], angles[..., half:]
    return np.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)
