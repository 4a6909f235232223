"""x (1 + scale) + shift, scale and shift given for each batch."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def modulate(x: NDArray[Any], scale: NDArray[Any], shift: NDArray[Any]) -> NDArray[np.float64]:
    return x.astype(np.float64) * (1 + scale.astype(np.float64)[:, None]) + shift.astype(np.float64)[:, None]
