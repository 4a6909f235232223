"""Each query and key head: RMS norm, weight, then rotation of adjacent pairs. Values stay."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def fused_qk_norm_rope(
    qkv: NDArray[Any],
    q_weight: NDArray[Any],
    k_weight: NDArray[Any],
    position_ids: NDArray[np.int32],
    q_heads: int,
    kv_heads: int,
    rotary: int,
    eps: float,
    base: float,
) -> dict[str, NDArray[np.float64]]:
    result = qkv.astype(np.float64)
    heads = result[:, : q_heads + kv_heads]
    heads /= np.sqrt(np.mean(heads**2, axis=-1, keepdims=True) + eps)
    heads[:, :q_heads] *= q_weight.astype(np.float64)
    heads[:, q_heads:] *= k_weight.astype(np.float64)
    angles = position_ids[:, None, None] * base ** (-2.0 * np.arange(rotary // 2) / rotary)
    cos, sin = np.cos(angles), np.sin(angles)
    even, odd = heads[..., 0:rotary:2].copy(), heads[..., 1:rotary:2].copy()
    heads[..., 0:rotary:2], heads[..., 1:rotary:2] = even * cos - odd * sin, odd * cos + even * sin
    return {"qkv": result}
