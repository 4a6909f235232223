"""tanh-GELU of x + bias."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def bias_gelu(input: NDArray[Any], bias: NDArray[Any]) -> NDArray[np.float64]:  # noqa: A002 - the kernel's name for it
    x = input.astype(np.float64) + bias.astype(np.float64)
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
