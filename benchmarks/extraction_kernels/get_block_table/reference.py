"""The cache slots of the chosen sparse blocks, zero where there are none."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def get_block_table(
    topk_idx: NDArray[np.int32],
    block_table: NDArray[np.int32],
    token_to_bs: NDArray[np.int32],
    token_pos_in_bs: NDArray[np.int32],
    seqlen_q: NDArray[np.int32],
) -> NDArray[np.int32]:
    chosen = topk_idx.transpose(1, 0, 2)[..., None]  # token, head group, rank
    place = chosen * 16 + np.arange(16)
    end = np.minimum(seqlen_q[token_to_bs], token_pos_in_bs)[:, None, None, None]
    there = (chosen >= 0) & (place < end)
    slots = block_table[token_to_bs[:, None, None, None], np.where(there, place, 0)]
    return np.where(there, 2 * slots + np.arange(2)[None, :, None, None], 0).astype(np.int32)
