"""Warps as loops in one thread, on the CPU device: reductions, exchanges of all kinds, lanes that stay away, functions that share."""

from __future__ import annotations

from pathlib import Path

import pytest
from pass_support import Runner, foreign, rewritten

from warpsmith.compile.pool import CompilePool
from warpsmith.refactor.passes.serial_warps import SerialWarps

# One kernel for what lanes may do with each other; each part has an output of its own.
_LANES = """
#define FULL 0xffffffffu
constexpr int WARP = 32;
__device__ __forceinline__ float warp_sum(float v) {
#pragma unroll
  for (int o = WARP / 2; o > 0; o >>= 1) v += __shfl_xor_sync(FULL, v, o);
  return v;
}
__global__ void k(float* sums, float* scans, int* best, unsigned* votes, float* quarters, const float* x, int rows, int n)
{
  const int warp = threadIdx.x / WARP, lane = threadIdx.x & (WARP - 1);
  const int row = blockIdx.x * (blockDim.x / 32) + warp;
  if (row >= rows) return;
  const float* mine = x + row * n;
  float total = 0.f, most = -1e30f;
  int place = -1;
  for (int i = lane; i < n; i += WARP) {
    const float v = mine[i];
    if (v < -3.f) continue;
    total += v;
    if (v > most) { most = v; place = i; }
  }
  for (int o = 16; o > 0; o /= 2) {
    const float other = __shfl_xor_sync(FULL, most, o);
    const int where = __shfl_xor_sync(FULL, place, o);
    if (other > most || (other == most && where < place)) { most = other; place = where; }
  }
  total = warp_sum(total) / n;
  float part = lane < n ? mine[lane] - total : 0.f;  // each lane has one of its own
  float scan = part;
  for (int o = 1; o < WARP; o <<= 1) {
    const float before = __shfl_up_sync(FULL, scan, o);
    if (lane >= o) scan += before;
  }
  float quarter = part;
  quarter += __shfl_down_sync(FULL, quarter, 4, 8);
  quarter += __shfl_down_sync(FULL, quarter, 2, 8);
  quarter += __shfl_down_sync(FULL, quarter, 1, 8);
  const unsigned above = __ballot_sync(FULL, part > 0.f);
  const float third = __shfl_sync(FULL, part, 3);
  if (lane == 0) { sums[row] = total + third; best[row] = place; votes[row] = above; }
  if (lane % 8 == 0) quarters[row * 4 + lane / 8] = quarter;
  scans[row * WARP + lane] = scan;
}
"""
_LANES_TOML = """
[arguments]
sums     = { dtype = "f32", shape = ["rows"], role = "out" }
scans    = { dtype = "f32", shape = ["rows", 32], role = "out" }
best     = { dtype = "i32", shape = ["rows"], role = "out" }
votes    = { dtype = "u32", shape = ["rows"], role = "out" }
quarters = { dtype = "f32", shape = ["rows", 4], role = "out" }
x        = { dtype = "f32", shape = ["rows", "n"], role = "in", init = "normal" }
rows     = { dtype = "i32", value = "rows" }
n        = { dtype = "i32", value = "n" }
[launch]
grid  = ["ceildiv(rows, 4)"]
block = [128]
[workloads]
long  = { rows = 7, n = 301 }
short = { rows = 9, n = 5 }
"""

# A block that works together, in helpers and in shared memory.
_BLOCK = """
template <typename T> __device__ T warp_max(T v) {
  v = fmaxf(v, __shfl_xor_sync(~0u, v, 16)); v = fmaxf(v, __shfl_xor_sync(~0u, v, 8));
  v = fmaxf(v, __shfl_xor_sync(~0u, v, 4)); v = fmaxf(v, __shfl_xor_sync(~0u, v, 2));
  v = fmaxf(v, __shfl_xor_sync(~0u, v, 1));
  return v;
}
template <typename T> __device__ T block_max(T v, T least) {
  __shared__ T parts[32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x >> 5;
  v = warp_max<T>(v);
  __syncthreads();
  if (lane == 0) parts[warp] = v;
  __syncthreads();
  v = threadIdx.x < blockDim.x / 32 ? parts[lane] : least;
  if (warp == 0) {
    v = warp_max<T>(v);
    if (lane == 0) parts[0] = v;
  }
  __syncthreads();
  return parts[0];
}
__global__ void k(float* out, const float* x, const float* w, int n)
{
  __shared__ float scale;
  const float* row = x + blockIdx.x * n;
  float* mine = out + blockIdx.x * n;
  float most = 0.f;
  for (int i = threadIdx.x; i < n; i += blockDim.x) most = fmaxf(most, fabsf(row[i]));
  most = block_max(most, 0.f);
  if (threadIdx.x == 0) scale = 127.f / most;
  __syncthreads();
  float kept = 0.f;
  for (int i = threadIdx.x; i < n; i += blockDim.x) kept += row[i] * w[i % 4];
  for (int i = threadIdx.x; i < n; i += blockDim.x) mine[i] = row[i] * scale;
  __syncthreads();
  if (threadIdx.x < 32) {
    float s = kept * 2.f;
    for (int o = 16; o > 0; o >>= 1) s += __shfl_down_sync(~0u, s, o);
    if (threadIdx.x == 0) mine[0] = s / most;
  }
}
"""
_BLOCK_TOML = """
[arguments]
out = { dtype = "f32", shape = ["rows", "n"], role = "out" }
x   = { dtype = "f32", shape = ["rows", "n"], role = "in", init = "normal" }
w   = { dtype = "f32", shape = [4], role = "in", init = "normal" }
n   = { dtype = "i32", value = "n" }
[launch]
grid  = ["rows"]
block = [BLOCK]
[workloads]
long  = { rows = 3, n = 1029 }
short = { rows = 3, n = 96 }
"""


@pytest.mark.parametrize("block", [96, 32])
def test_warps_of_rows(pool: CompilePool, workshop: Path, block: int):
    toml = _LANES_TOML.replace("128", str(block)).replace("rows, 4)", f"rows, {block // 32})")
    kernel, plain = foreign(workshop / f"serial_lanes_{block}", _LANES, toml)
    made = rewritten(SerialWarps(), kernel, plain, pool.describe().limits)
    Runner(pool, kernel, plain).check([(made.alternatives[1], {})])


def test_blocks_of_warps(pool: CompilePool, workshop: Path):
    kernel, plain = foreign(workshop / "serial_block", _BLOCK, _BLOCK_TOML.replace("BLOCK", "32"))
    made = rewritten(SerialWarps(), kernel, plain, pool.describe().limits)
    Runner(pool, kernel, plain).check([(made.alternatives[1], {})])


def test_warps_of_a_block(pool: CompilePool, workshop: Path):
    toml = _BLOCK_TOML.replace("BLOCK", "128")
    kernel, plain = foreign(workshop / "serial_warps", _BLOCK.replace("s / most", "most"), toml)
    made = rewritten(SerialWarps(), kernel, plain, pool.describe().limits)
    Runner(pool, kernel, plain).check([(form, {}) for form in made.alternatives.values()])


# Sums over columns, which lanes go through row by row together: whole groups of them, the rest, and several values a lane.
_COLUMNS = """
__global__ void k(float* out, const float* x, const float* w, int n)
{
  __shared__ float weights[64];
  for (int i = threadIdx.x; i < 64; i += blockDim.x) weights[i] = w[i] * 2.f;
  __syncthreads();
  const float* mine = x + blockIdx.x * 64 * n;
  for (int c = threadIdx.x; c < n; c += blockDim.x) {
    float total = 0.f, most = -1e30f;
    const float first = mine[c];
    for (int i = 0; i < 64; ++i) {
      const float v = weights[i] * mine[i * n + c];
      if (v < first) continue;
      total += v;
      most = fmaxf(most, v);
    }
    for (int i = 0; i < 64; i += 2) total -= mine[i * n + c] * 0.5f;
    out[blockIdx.x * n + c] = total + most;
  }
}
"""

_CHANGED = """
__global__ void k(float* out, const float* x, int n)
{
  __shared__ float parts[32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, at = blockIdx.x * n + threadIdx.x;
  float s = x[at];
  for (int o = 16; o > 0; o /= 2) s += __shfl_xor_sync(~0u, s, o);
  if (lane == 0) parts[warp] = s;
  __syncthreads();
  if (lane < 4) s = parts[lane];
  for (int o = 2; o > 0; o /= 2) s += __shfl_xor_sync(~0u, s, o);
  out[at] = s;
}
"""


def test_loops_over_rows_inside_of_columns(pool: CompilePool, workshop: Path):
    toml = _BLOCK_TOML.replace("BLOCK", "128").replace(
        'x   = { dtype = "f32", shape = ["rows", "n"]', 'x   = { dtype = "f32", shape = ["64 * rows", "n"]'
    )
    kernel, plain = foreign(workshop / "serial_columns", _COLUMNS, toml.replace("shape = [4]", "shape = [64]"))
    made = rewritten(SerialWarps(), kernel, plain, pool.describe().limits)
    assert all("lanes_here == 32" in form.text for form in made.alternatives.values())
    Runner(pool, kernel, plain).check([(form, {}) for form in made.alternatives.values()])


def test_what_lanes_change_after_a_sum_is_each_lanes_own(pool: CompilePool, workshop: Path):
    toml = _BLOCK_TOML.replace("BLOCK", "128").replace("n = 1029", "n = 128").replace("n = 96", "n = 128")
    kernel, plain = foreign(
        workshop / "serial_changed",
        _CHANGED,
        toml.replace('w   = { dtype = "f32", shape = [4], role = "in", init = "normal" }\n', ""),
    )
    made = rewritten(SerialWarps(), kernel, plain, pool.describe().limits)
    Runner(pool, kernel, plain).check([(made.alternatives[1], {})])
