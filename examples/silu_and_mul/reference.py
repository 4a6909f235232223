"""SwiGLU's gate in float64: the oracle for silu_and_mul, whatever the kernel's storage type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def silu_and_mul(input: NDArray[Any], d: int) -> NDArray[np.float64]:  # noqa: A002 - the kernel's own name for it
    x = input.astype(np.float64)
    gate, up = x[:, :d], x[:, d:]
    return gate / (1.0 + np.exp(-gate)) * up
