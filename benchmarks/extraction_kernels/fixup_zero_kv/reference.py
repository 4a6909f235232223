"""Rows of sequences without keys: output zero, log-sum-exp minus infinity."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def cumulative(shape: tuple[int, ...], length: int, **_: Any) -> NDArray[np.int32]:
    return np.arange(shape[0], dtype=np.int32) * length


def fixup_zero_kv(
    out: NDArray[Any], lse: NDArray[Any], kv_lens: NDArray[np.int32], length: int
) -> dict[str, NDArray[np.float64]]:
    empty = np.repeat(kv_lens <= 0, length)[:, None]
    return {"out": np.where(empty, 0.0, out), "lse": np.where(empty, -np.inf, lse)}
