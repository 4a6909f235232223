"""Attention beside the tanh-GELU of the MLP branch."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def gelu_tanh_cat(attn: NDArray[Any], mlp: NDArray[Any]) -> NDArray[np.float64]:
    x = mlp.astype(np.float64)
    gelu = 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    return np.concatenate([attn.astype(np.float64), gelu], axis=1)
