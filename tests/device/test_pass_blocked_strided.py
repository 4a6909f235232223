"""Columns distributed another way on the CPU device: the same results, each written once."""

from __future__ import annotations

from pathlib import Path

from pass_support import Runner, foreign, original, rewritten

from warpsmith.compile.pool import CompilePool
from warpsmith.refactor.passes.blocked_strided import BlockedStrided

_COLUMNS = """
// Each thread smooths four neighbouring columns of a tile that the block has staged together.
#define PER_THREAD 4
#define THREADS 32
__global__ void k(float* out, const float* x, int n) {
  __shared__ float tile[PER_THREAD * THREADS + 1];
  const int first = blockIdx.x * PER_THREAD * THREADS;
  for (int i = threadIdx.x; i <= PER_THREAD * THREADS; i += THREADS) tile[i] = first + i < n ? x[first + i] : 0.0f;
  __syncthreads();
  float own[PER_THREAD];
  for (int j = 0; j < PER_THREAD; ++j) own[j] = tile[threadIdx.x * PER_THREAD + j] + tile[threadIdx.x * PER_THREAD + j + 1];
  for (int j = 0; j < PER_THREAD; ++j) {
    const int col = first + threadIdx.x * PER_THREAD + j;
    if (col < n) out[col] = 0.5f * own[j];
  }
}
"""
_COLUMNS_TOML = """
[arguments]
out = { dtype = "f32", shape = ["n"], role = "out" }
x   = { dtype = "f32", shape = ["n"], role = "in" }
n   = { dtype = "i32", value = "n" }
[launch]
grid  = ["ceildiv(n, 128)"]
block = [32]
[workloads]
odd   = { n = 1001 }
tiny  = { n = 3 }
"""


def test_bundled_matmul_is_right_on_odd_edges(pool: CompilePool):
    kernel, variant = original("matmul")
    spread = rewritten(BlockedStrided(), kernel, variant, pool.describe().limits).alternatives[1]
    Runner(pool, kernel, variant, kernel.heldout_workloads).check([(spread, {"SPREAD": 1})])


def test_staged_tile(workshop: Path, pool: CompilePool):
    kernel, variant = foreign(workshop, _COLUMNS, _COLUMNS_TOML)
    spread = rewritten(BlockedStrided(), kernel, variant, pool.describe().limits).alternatives[1]
    assert spread.text.count("j * 32 + threadIdx.x") == 3
    Runner(pool, kernel, variant).check([(spread, {"SPREAD": 1})])
