"""The forms that passes start from compute what their author's kernel does."""

from __future__ import annotations

import numpy as np
import pytest
from cpu_support import launch

from warpsmith.core.hardware import Language
from warpsmith.source import parse_kernel
from warpsmith.source.inlined_helpers import with_inlined_helpers
from warpsmith.source.plain_groups import with_plain_groups
from warpsmith.source.plain_reductions import with_plain_reductions
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


REDUCTIONS = """
#include <cub/cub.cuh>
#include <cuda/functional>
#include <type_traits>
#include <utility>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
using CubMax = cuda::maximum<>;
template <int kPack, typename T> struct Pack { T val[kPack]; };
template <typename F> struct Each {
  F one;
  __device__ void operator()(const Pack<2, int>& pack) const { for (int i = 0; i < 2; ++i) one(pack.val[i]); }
};
template <typename T, typename V, typename F>
__device__ void over(const T* in, int len, int first, int stride, V&& pack, F&& one) {
  if (len % 2 == 0) {
    auto* packs = reinterpret_cast<const Pack<2, T>*>(in);
    for (int i = first; i < len / 2; i += stride) pack(packs[i]);
    return;
  }
  in += 1;
  len -= 1;
  for (int i = first; i < len; i += stride) { one(in[i]); }
}
template <typename T, typename F> __device__ void over(const T* in, int len, int first, int stride, F&& one) {
  using All = Each<std::decay_t<F>>;
  over(in, len, first, stride, All{one}, std::forward<F>(one));
}
__global__ void k(int* out, const int* in, int n) {
  using Reduce = cub::BlockReduce<int, 1024>;
  __shared__ typename Reduce::TempStorage storage;
  auto tile = cg::tiled_partition<4>(cg::this_thread_block());
  const int* row = in + blockIdx.x * n;
  int sum = 0, most = -1000000;
  over(row, n, threadIdx.x, blockDim.x, [&](const int& x) { sum += x; most = max(most, x); });
  sum = Reduce(storage).Reduce(sum, cub::Sum(), blockDim.x);
  __syncthreads();
  most = Reduce(storage).Reduce(most, CubMax{}, blockDim.x);
  const int few = cg::reduce(tile, in[threadIdx.x], cg::less<int>()) + 1;
  if (threadIdx.x == 0) { out[blockIdx.x * 4] = sum; out[blockIdx.x * 4 + 1] = most; }
  if (threadIdx.x < 8 && threadIdx.x % 4 == 0) out[blockIdx.x * 4 + 2 + threadIdx.x / 4] = few;
}
"""


@pytest.mark.parametrize("block", [256, 40, 8, 100])
@pytest.mark.parametrize("columns", [300, 301])
def test_reductions_and_helpers(block: int, columns: int) -> None:
    text = REDUCTIONS
    for step in (with_inlined_helpers, lambda s: with_plain_reductions(s, 1), lambda s: with_plain_groups(s, 1, 1)):
        written = step(parse_kernel(text, Language.CUDA, "k"))
        assert written != text
        text = written
    kernel = text.partition("__global__")[2]
    assert not any(word in kernel for word in ("cg::", "Reduce", "over(", "[&]"))
    values = np.random.default_rng(3).integers(-500, 500, 3 * columns).astype(np.int32)
    arguments = [np.zeros(12, np.int32), values, np.int32(columns)]
    expected, got = (launch(each, arguments, grid=(3,), block=(block,), entry="k") for each in (REDUCTIONS, text))
    np.testing.assert_array_equal(got, expected)
    assert got[0] == values[:columns].sum() if columns % 2 == 0 else got[0] == values[1:columns].sum()
