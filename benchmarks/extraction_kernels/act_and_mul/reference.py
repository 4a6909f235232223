"""SiLU of the first half times the second."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def silu_and_mul(input: NDArray[Any], d: int) -> NDArray[np.float64]:  # noqa: A002 - the kernel's name for it
    gate, up = input[:, :d].astype(np.float64), input[:, d:].astype(np.float64)
    return gate / (1 + np.exp(-gate)) * up
