"""SiLU of the normalised, scaled and shifted input."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def norm_silu(
    input: NDArray[Any],  # noqa: A002 - the kernel's name for it
    denominator: NDArray[Any],
    gamma: NDArray[Any],
    bias: NDArray[Any],
    scale: float,
) -> NDArray[np.float64]:
    y = input.astype(np.float64) / denominator.astype(np.float64)[:, None] * scale * gamma + bias
    return y / (1 + np.exp(-y))
