"""The last position of each sequence, zero for an empty one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def clamp_position(seq_lens: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.maximum(seq_lens - 1, 0)
