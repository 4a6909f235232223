"""Merging two partial attention states in float64: the oracle for merge_attn_states_lse, whatever the storage type of v."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def merge_attn_states_lse(
    v_a: NDArray[Any], s_a: NDArray[Any], v_b: NDArray[Any], s_b: NDArray[Any]
) -> dict[str, NDArray[np.float64]]:
    lse_a, lse_b = s_a.astype(np.float64), s_b.astype(np.float64)
    lse = np.logaddexp(lse_a, lse_b)
    weight_a, weight_b = np.exp(lse_a - lse)[..., None], np.exp(lse_b - lse)[..., None]
    return {"v_out": v_a.astype(np.float64) * weight_a + v_b.astype(np.float64) * weight_b, "s_out": lse}
