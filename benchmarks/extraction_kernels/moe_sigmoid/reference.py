"""The logistic function of router logits."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def moe_sigmoid(input: NDArray[Any]) -> NDArray[np.float64]:  # noqa: A002 - the kernel's name for it
    return 1 / (1 + np.exp(-input.astype(np.float64)))
