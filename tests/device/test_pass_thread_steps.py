"""Threads that do what several did, blocks that do what a row of blocks did, loops in strips, and steps that warps share, on the
CPU device.
"""

from __future__ import annotations

from pathlib import Path

from pass_support import Runner, foreign, rewritten

from warpsmith.compile.pool import CompilePool
from warpsmith.refactor.passes.block_steps import BlockSteps
from warpsmith.refactor.passes.step_lanes import StepLanes
from warpsmith.refactor.passes.strip_mine import StripMine
from warpsmith.refactor.passes.thread_steps import ThreadSteps

# Threads that leave in the middle of a loop, a parameter that changes, atomics, a grid that knows its size and goes past the end.
_KERNEL = """
__global__ void k(float* out, unsigned* count, const float* x, const float* scales, int rows, int n, int group)
{
  const int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockDim.y * blockIdx.y + threadIdx.y;
  if (r >= rows || c >= n) return;
  x += r * n;
  out[r * n + c] = x[c] + gridDim.x;
  float sum = 0.f;
  for (int i = 0; i <= c; i += 2) {
    if (x[i] > 1.5f) return;
    sum += x[i] * scales[i / 8] + scales[i / 8];
  }
  atomicAdd(count, 1u);
  for (int i = 0; i < c; ++i) sum += x[i] * scales[i / group];
  out[r * n + c] = sum;
}
"""
_TOML = """
[arguments]
out    = { dtype = "f32", shape = ["rows", "n"], role = "out" }
count  = { dtype = "u32", shape = [1], role = "inout", init = "zeros" }
x      = { dtype = "f32", shape = ["rows", "n"], role = "in", init = "normal" }
scales = { dtype = "f32", shape = ["n"], role = "in", init = "normal" }
rows   = { dtype = "i32", value = "rows" }
n      = { dtype = "i32", value = "n" }
group  = { dtype = "i32", value = 5 }
[launch]
grid  = ["ceildiv(n, 16)", "ceildiv(rows, 4)"]
block = [16, 4]
[workloads]
some = { rows = 13, n = 54 }
one  = { rows = 1, n = 64 }
"""


def test_thread_steps(pool: CompilePool, workshop: Path):
    kernel, plain = foreign(workshop / "thread_steps", _KERNEL, _TOML)
    made = rewritten(ThreadSteps(), kernel, plain, pool.describe().limits).alternatives[2]
    values = ({"EACH_Y": y, "EACH_X": x} for y, x in ((2, 1), (4, 4), (2, 16)))
    Runner(pool, kernel, plain).check([(made, each) for each in values])


def test_strip_mine(pool: CompilePool, workshop: Path):
    kernel, plain = foreign(workshop / "strip_mine", _KERNEL, _TOML)
    made = rewritten(StripMine(), kernel, plain, pool.describe().limits).alternatives[1]
    assert made.text.count("first_i") > 2
    Runner(pool, kernel, plain).check([(made, {})])


# A grid of two dimensions whose blocks share memory and leave where nothing is left to do.
_TILES = """
__global__ void k(float* out, const float* x, int rows, int n)
{
  __shared__ float tile[16];
  const int r = blockIdx.y;
  if (x[r * n] > 1.f) return;
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x] = c < n ? x[r * n + c] : 0.f;
  __syncthreads();
  if (c < n) out[r * n + c] = tile[threadIdx.x] + tile[15 - threadIdx.x];
}
"""
_TILES_TOML = """
[arguments]
out  = { dtype = "f32", shape = ["rows", "n"], role = "inout", init = "zeros" }
x    = { dtype = "f32", shape = ["rows", "n"], role = "in", init = "normal" }
rows = { dtype = "i32", value = "rows" }
n    = { dtype = "i32", value = "n" }
[launch]
grid  = ["ceildiv(n, 16)", "rows"]
block = [16]
[workloads]
some = { rows = 13, n = 117 }
one  = { rows = 1, n = 64 }
"""


def test_block_steps(pool: CompilePool, workshop: Path):
    kernel, plain = foreign(workshop / "block_steps", _TILES, _TILES_TOML)
    made = rewritten(BlockSteps(), kernel, plain, pool.describe().limits).alternatives[2]
    Runner(pool, kernel, plain).check([(made, {"BLOCK_STEPS": 2}), (made, {"BLOCK_STEPS": 4})])


# Scores of a query against keys, their sum and maximum over the block, and a loop that begins in the middle.
_SCORES = """
__global__ void k(float* out, float* sums, const float* q, const float* keys, int len, int dim)
{
  extern __shared__ float scores[];
  __shared__ float sum[64], most[64];
  const int tid = threadIdx.x;
  float s = 0.f, m = -1e30f;
  for (int t = tid; t < len; t += blockDim.x) {
    float dot = 0.f;
    for (int d = 0; d < dim; ++d) dot += q[d] * keys[(blockIdx.x * len + t) * dim + d];
    if (t % 3 == 0) continue;
    scores[t] = dot;
    s += dot;
    m = fmaxf(m, dot);
  }
  sum[tid] = s;
  most[tid] = m;
  __syncthreads();
  if (tid == 0) {
    for (int i = 1; i < blockDim.x; ++i) { s += sum[i]; m = fmaxf(m, most[i]); }
    sums[blockIdx.x] = s * m;
  }
  for (int t = len / 2 + tid; t < len; t += blockDim.x) {
    float dot = 0.f;
    for (int d = 1; d <= dim - 1; ++d) dot += keys[t * dim + d];
    out[blockIdx.x * len + t] = dot + (t % 3 == 0 ? 0.f : scores[t]);
  }
}
"""
_SCORES_TOML = """
[arguments]
out  = { dtype = "f32", shape = ["rows", "len"], role = "inout", init = "zeros" }
sums = { dtype = "f32", shape = ["rows"], role = "out" }
q    = { dtype = "f32", shape = ["dim"], role = "in", init = "normal" }
keys = { dtype = "f32", shape = ["rows", "len", "dim"], role = "in", init = "normal" }
len  = { dtype = "i32", value = "len" }
dim  = { dtype = "i32", value = "dim" }
[launch]
grid   = ["rows"]
block  = [64]
shared = "4 * len"
[workloads]
long  = { rows = 3, len = 71, dim = 45 }
short = { rows = 2, len = 2, dim = 3 }
"""


def test_step_lanes(pool: CompilePool, workshop: Path):
    kernel, plain = foreign(workshop / "step_lanes", _SCORES, _SCORES_TOML)
    made = rewritten(StepLanes(), kernel, plain, pool.describe().limits).alternatives[32]
    assert made.text.count("blockDim.x / 32") == 2
    Runner(pool, kernel, plain).check([(made, {})])
