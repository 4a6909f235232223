"""The sum of three, rounded after each addition."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def add3(params_a: NDArray[Any], params_b: NDArray[Any], params_c: NDArray[Any]) -> NDArray[np.float64]:
    return params_a.astype(np.float64) + params_b + params_c
