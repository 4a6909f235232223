"""Softmax of soft-capped, corrected logits."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def moe_softmax(
    input: NDArray[Any],  # noqa: A002 - the kernel's name for it
    correction_bias: NDArray[Any],
    moe_softcapping: float,
) -> NDArray[np.float64]:
    x = np.tanh(input.astype(np.float64) / moe_softcapping) * moe_softcapping + correction_bias
    weights = np.exp(x - x.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)
