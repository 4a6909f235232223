"""Residual add and RMS normalisation in float64: the oracle for fused_add_rmsnorm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def fused_add_rmsnorm(
    input: NDArray[Any],  # noqa: A002 - the kernel's own name for it
    residual: NDArray[Any],
    weight: NDArray[Any],
    epsilon: float,
) -> dict[str, NDArray[np.float64]]:
    total = input.astype(np.float64) + residual.astype(np.float64)
    rms = np.sqrt(np.mean(total**2, axis=1, keepdims=True) + epsilon)
    return {"residual": total, "input": total / rms * weight.astype(np.float64)}
