"""x times the logistic function of the gate."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def output_gate(x: NDArray[Any], gate: NDArray[Any]) -> NDArray[np.float64]:
    return x.astype(np.float64) / (1 + np.exp(-gate.astype(np.float64)))
