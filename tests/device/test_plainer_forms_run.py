"""The forms that passes start from compute what their author's kernel does."""

from __future__ import annotations

import numpy as np
import pytest
from cpu_support import launch

from warpsmith.core.hardware import Language
from warpsmith.source import parse_kernel
from warpsmith.source.plain_groups import with_plain_groups
from warpsmith.source.quotients import with_quotients
from warpsmith.source.settled_branches import with_settled_branches

SOURCE = """
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
template <bool kOdd, int kLanes> __global__ void k(int* out, const int* in) {
  cg::thread_block block = cg::this_thread_block();
  auto grid = cg::this_grid();
  auto warp = cg::tiled_partition<32>(block);
  cg::thread_block_tile<kLanes> lanes = cg::tiled_partition<kLanes>(block);
  __shared__ int kept[128];
  const unsigned i = grid.thread_rank();
  int v = in[i] + (lanes.meta_group_rank() << 2);
  if constexpr (kOdd) { v |= 1; } else { v += kLanes >> 1; }
  kept[block.thread_rank()] = v;
  block.sync();
  v += kept[(block.thread_rank() + 5) & 127] + warp.shfl_down(v, 3) + lanes.shfl_xor(lanes.shfl(v, 1), 2);
  v += warp.ballot(v & 1) + lanes.meta_group_size() + block.group_index().y * warp.size() + (block.thread_rank() >> 3 & 7);
  out[i] = v + (int)grid.size();
}
"""


@pytest.mark.parametrize("odd", ["true", "false"])
@pytest.mark.parametrize(("grid", "block"), [((3,), (128,)), ((2, 2), (32, 4))])
def test_same_numbers(odd: str, grid: tuple[int, ...], block: tuple[int, ...]) -> None:
    entry = f"k<{odd}, 8>"
    text = SOURCE
    for step in (with_settled_branches, lambda s: with_plain_groups(s, len(grid), len(block)), with_quotients):
        written = step(parse_kernel(text, Language.CUDA, entry))
        assert written != text
        text = written
    assert "cg::" not in text.partition("{")[2]
    count = int(np.prod(grid) * np.prod(block))
    arguments = [np.zeros(count, np.int32), np.arange(count, dtype=np.int32) * 7 % 1000]
    expected, got = (launch(each, arguments, grid=grid, block=block, entry=entry) for each in (SOURCE, text))
    np.testing.assert_array_equal(got, expected)
