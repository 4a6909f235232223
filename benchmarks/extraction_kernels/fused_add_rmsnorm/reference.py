"""The residual takes the sum, the input its normalised, weighted form."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def fused_add_rmsnorm(
    input: NDArray[Any],  # noqa: A002 - the kernel's name for it
    residual: NDArray[Any],
    weight: NDArray[Any],
    eps: float,
) -> dict[str, NDArray[np.float64]]:
    total = input.astype(np.float64) + residual.astype(np.float64)
    scale = 1 / np.sqrt(np.mean(total**2, axis=1, keepdims=True) + eps)
    return {"residual": total, "input": total * scale * weight.astype(np.float64)}
