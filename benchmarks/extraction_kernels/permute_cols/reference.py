"""The columns in another order."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def permute_cols(a_int4_ptr: NDArray[Any], perm_int_ptr: NDArray[np.int32]) -> NDArray[Any]:
    return a_int4_ptr[:, perm_int_ptr]
