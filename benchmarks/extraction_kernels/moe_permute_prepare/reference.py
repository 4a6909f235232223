"""Where each expert begins among sorted routes, and where each route went; negative experts are elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def sorted_experts(shape: tuple[int, ...], rng: np.random.Generator, experts: int, **_: Any) -> NDArray[np.int32]:
    return np.sort(rng.integers(-1, experts, shape)).astype(np.int32)


def permute_prepare(sorted_topk_ids: NDArray[np.int32], reorder_ids: NDArray[np.int64], experts: int) -> dict[str, NDArray[Any]]:
    elsewhere = int(np.searchsorted(sorted_topk_ids, 0))
    went = np.empty(len(reorder_ids), np.int32)
    went[reorder_ids] = np.arange(len(reorder_ids)) - elsewhere
    return {"expert_offsets": np.searchsorted(sorted_topk_ids, np.arange(experts + 1)) - elsewhere, "src2dst": went}
