"""The forms that passes start from compute what their author's kernel does."""

from __future__ import annotations

import numpy as np
import pytest
from cpu_support import launch

from warpsmith.core.hardware import Language
from warpsmith.source import parse_kernel
from warpsmith.source.forwarded_kernels import with_forwarded_body
from warpsmith.source.inlined_exchanges import with_inlined_exchanges
from warpsmith.source.inlined_helpers import with_inlined_helpers
from warpsmith.source.own_variables import with_own_variables
from warpsmith.source.plain_assembly import with_plain_assembly
from warpsmith.source.plain_groups import with_plain_groups
from warpsmith.source.plain_reductions import with_plain_reductions
from warpsmith.source.quotients import with_quotients
from warpsmith.source.settled_branches import with_settled_branches
from warpsmith.source.wrappers import with_wrappers_written_out

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


ASSEMBLY = """
__device__ float exchanged(float x, int m) {
  float y;
  asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=f"(y) : "f"(x), "r"(m));
  return y;
}
__device__ double exchanged(double x, int m) { return __shfl_xor_sync(0xffffffff, x, m); }
__device__ int lane_of() { int l; asm("mov.u32 %0, %%laneid;" : "=r"(l)); return l; }
__device__ float2 both(const float2* p) {
  float2 r;
  asm volatile("ld.global.nc.L1::no_allocate.v2.f32 {%0, %1}, [%2];" : "=f"(r.x), "=f"(r.y) : "l"(p));
  return r;
}
__device__ void put(const float* p, float v) { asm volatile("st.global.cs.f32 [%0], %1;" ::"l"(p), "f"(v) : "memory"); }
template <int G> struct Sum {
  template <int N> static __device__ float of(const float (&a)[N], const float (&b)[N]) {
    float s = 0;
    for (int i = 0; i < N; ++i) s += a[i] * b[i];
    for (int m = G / 2; m >= 1; m /= 2) s += exchanged(s, m);
    return s;
  }
};
template <typename T, int G, int W = 4> __device__ void sums(T* to, const T* from, const T* scales, float by) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float2 v = both((const float2*)from + i);
  float own[2] = {v.x, v.y};
  float ones[2] = {1, by};
  float sum = by * Sum<G>::of(own, ones);
  sum += exchanged(sum, 16);
  __shared__ float kept[W];
  kept[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = lane_of() < W ? kept[lane_of()] : 0;
    for (int m = 16; m > 0; m /= 2) sum += exchanged(sum, m);
    kept[0] = sum;
  }
  __syncthreads();
  put(to + i, kept[0] + v.x + lane_of() + (scales != nullptr ? scales[i] : 0));
}
__global__ void k(float* out, const float* in) { sums<float, 8>(out, in, nullptr, 3); }
"""


@pytest.mark.parametrize(("grid", "block"), [((3,), (128,))])
def test_assembly_and_followed_functions_compute_the_same(grid: tuple[int, ...], block: tuple[int, ...]) -> None:
    text = ASSEMBLY
    for step in (
        with_forwarded_body,
        lambda s: with_plain_assembly(s, 1, block),
        with_wrappers_written_out,
        with_inlined_exchanges,
        with_own_variables,
    ):
        written = step(parse_kernel(text, Language.CUDA, "k"))
        assert written != text
        text = written
    kernel = parse_kernel(text, Language.CUDA, "k")
    assert not any(word in kernel.text_of(body) for body in kernel.reached() for word in ("asm", "exchanged(", "Sum<"))
    count = int(np.prod(grid) * np.prod(block))
    arguments = [np.zeros(count, np.float32), (np.arange(2 * count) * 7 % 50).astype(np.float32)]
    expected, got = (launch(each, arguments, grid=grid, block=block, entry="k") for each in (ASSEMBLY, text))
    np.testing.assert_array_equal(got, expected)
    assert np.ptp(got) > 0
