"""Every row times its factor; the rows of x lie further apart than they are long."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def row_scale(x: NDArray[Any], tau: NDArray[Any], d: int) -> NDArray[np.float64]:
    return x[:, :d].astype(np.float64) * tau.astype(np.float64)[:, None]
