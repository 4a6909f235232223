"""Sinusoidal embedding, cosines first."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def timestep_embedding(t_ptr: NDArray[Any], neg_log_max_period: float, dim: int) -> NDArray[np.float64]:
    angles = t_ptr.astype(np.float64)[:, None] * np.exp(neg_log_max_period * np.arange(dim // 2))
    return np.concatenate([np.cos(angles), np.sin(angles)], axis=1)
