"""The matrix product in float64: the oracle for matmul."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def matmul(a: NDArray[np.float32], b: NDArray[np.float32]) -> NDArray[np.float64]:
    return a.astype(np.float64) @ b.astype(np.float64)
