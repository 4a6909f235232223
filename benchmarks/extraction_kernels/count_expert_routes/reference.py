"""How many routes each expert has, as the problem sizes of two grouped products."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def count_expert_routes(topk_ids: NDArray[np.int32], experts: int, n: int, k: int) -> dict[str, NDArray[Any]]:
    count = np.bincount(topk_ids, minlength=experts)
    return {
        "problem_sizes1": np.stack([count, np.full(experts, 2 * n), np.full(experts, k)], axis=1),
        "problem_sizes2": np.stack([count, np.full(experts, k), np.full(experts, n)], axis=1),
    }
