"""The forms that passes start from compute what their author's kernel does."""

from __future__ import annotations

import numpy as np
import pytest
from cpu_support import launch

from warpsmith.core.hardware import Language
from warpsmith.source import parse_kernel
from warpsmith.source.forwarded_kernels import with_forwarded_body
from warpsmith.source.inlined_exchanges import with_inlined_exchanges
from warpsmith.source.own_variables import with_own_variables
from warpsmith.source.plain_assembly import with_plain_assembly
from warpsmith.source.plain_groups import with_plain_groups
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
