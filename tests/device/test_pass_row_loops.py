"""Threads that go over their block's row give what one thread for each element gave: vectors, several sums, odd rows, small blocks."""

from __future__ import annotations

from pass_support import Runner, foreign, rewritten

from warpsmith.refactor.passes.reduction_style import ReductionStyle
from warpsmith.refactor.passes.row_loops import RowLoops

REDUCTIONS = """
__device__ __forceinline__ float warp_NAME(float value) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) value = COMBINED;
  return value;
}
__device__ __forceinline__ float block_NAME(float value) {
  __shared__ float partial[32];
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  value = warp_NAME(value);
  __syncthreads();
  if (lane == 0) partial[warp] = value;
  __syncthreads();
  value = warp_NAME(lane < blockDim.x / 32 ? partial[lane] : MISSING);
  return value;
}
"""
EXCHANGED = "__shfl_xor_sync(0xffffffff, value, offset)"
SUM = REDUCTIONS.replace("NAME", "sum").replace("COMBINED", f"value + {EXCHANGED}").replace("MISSING", "0.0f")
MAX = REDUCTIONS.replace("NAME", "max").replace("COMBINED", f"fmaxf(value, {EXCHANGED})").replace("MISSING", "-INFINITY")
SIZES = """
[arguments]
out = { dtype = "f32", shape = ["rows", "4 * n"], role = "inout", init = "normal" }
x = { dtype = "f32", shape = ["rows", "4 * n"], role = "in", init = "normal" }
w = { dtype = "f32", shape = ["4 * n"], role = "in", init = "normal" }
n = { dtype = "i32", value = "n" }

[launch]
grid = ["rows"]
block = ["round_up(n, 32)"]

[workloads]
long = { rows = 2, n = 333 }
odd = { rows = 3, n = 37 }
"""
SIGNATURE = "__global__ void k(float* out, const float* x, const float* w, int n) {\n  const int tid = threadIdx.x;\n"
NORM = """
  float4 v;
  float sum = 0.0f;
  const float4* row = reinterpret_cast<const float4*>(x) + blockIdx.x * n;
  if (tid < n) {
    v = row[tid];
    sum = v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
  }
  sum = block_sum(sum);
  const float scale = rsqrtf(sum / (4 * n) + 1e-5f);
  if (tid < n) {
    const float4 weight = reinterpret_cast<const float4*>(w)[tid];
    float4 y;
    y.x = v.x * scale * weight.x;
    y.y = v.y * scale * weight.y;
    y.z = v.z * scale * weight.z;
    y.w = v.w * scale * weight.w;
    (reinterpret_cast<float4*>(out) + blockIdx.x * n)[tid] = y;
  }
"""
SOFTMAX = """
  const float* row = x + blockIdx.x * n;
  const float factor = w[tid];
  float v;
  float top = -INFINITY, sum = 0.0f;
  __shared__ float kept;
  if (threadIdx.x < n) {
    v = row[tid] * factor;
    top = fmaxf(top, v);
  }
  top = block_max(top);
  if (tid < n) {
    v = expf(v - top);
    sum += v;
  }
  const float all = block_sum(sum);
  if (tid == 0) kept = all;
  __syncthreads();
  if (tid < n) out[blockIdx.x * n + threadIdx.x] = v / kept + (threadIdx.x & 3);
"""


def test_vectors_of_a_row(pool, workshop):
    kernel, variant = foreign(workshop, f"{SUM}{SIGNATURE}{NORM}}}\n", SIZES)
    limits = pool.describe().limits
    loops = rewritten(RowLoops(), kernel, variant, limits).alternatives[1]
    serial = rewritten(ReductionStyle(), kernel, loops, limits).alternatives[1]
    Runner(pool, kernel, variant).check([(loops, {"BLOCK": 32}), (serial, {"BLOCK": 8})])


def test_several_sums_and_what_follows_from_them(pool, workshop):
    kernel, variant = foreign(workshop, f"{SUM}{MAX}{SIGNATURE}{SOFTMAX}}}\n", SIZES)
    loops = rewritten(RowLoops(), kernel, variant, pool.describe().limits).alternatives[1]
    Runner(pool, kernel, variant).check([(loops, {"BLOCK": 64})])
