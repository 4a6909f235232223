"""residual + gate (a + b), one gate for all rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def residual_gate_add2(
    residual: NDArray[Any], update_a: NDArray[Any], update_b: NDArray[Any], gate: NDArray[Any]
) -> NDArray[np.float64]:
    return residual.astype(np.float64) + gate.astype(np.float64) * (update_a.astype(np.float64) + update_b)
