"""[rank, token, batch, head, dim] to [batch, token, rank, head, dim]."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def merge_heads(x: NDArray[Any]) -> NDArray[np.float64]:
    return np.ascontiguousarray(x.transpose(2, 1, 0, 3, 4)).astype(np.float64)
