"""Lifted constants on the CPU device: configurations far from the author's are right, at odd sizes too."""

from __future__ import annotations

from pathlib import Path

import pytest
from pass_support import Runner, foreign, original, rewritten

from warpsmith.compile.pool import CompilePool
from warpsmith.refactor.passes.lift_constants import LiftConstants

_BANDS = """
#define TILE 16
#define DEPTH 8
// Each block sums a band of columns, DEPTH rows at a time through shared memory.
__global__ void k(float* sums, const float* x, int rows, int n) {
  __shared__ float band[DEPTH][TILE];
  const int col = blockIdx.x * TILE + threadIdx.x;
  float sum = 0.0f;
  for (int first = 0; first < rows; first += DEPTH) {
    for (int r = 0; r < DEPTH; ++r) {
      band[r][threadIdx.x] = first + r < rows && col < n ? x[(first + r) * n + col] : 0.0f;
    }
    __syncthreads();
    for (int r = 0; r < DEPTH; ++r) sum += band[r][TILE - 1 - threadIdx.x];
    __syncthreads();
  }
  const int mirrored = blockIdx.x * TILE + TILE - 1 - threadIdx.x;
  if (mirrored < n) sums[mirrored] = sum;
}
"""
_BANDS_TOML = """
[arguments]
sums = { dtype = "f32", shape = ["n"], role = "out" }
x    = { dtype = "f32", shape = ["rows", "n"], role = "in" }
rows = { dtype = "i32", value = "rows" }
n    = { dtype = "i32", value = "n" }
[launch]
grid  = ["(n + 15) / 16"]
block = [16]
[workloads]
odd = { rows = 13, n = 77 }
"""


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("matmul", {"TILE_M": 32, "TILE_N": 128, "TILE_K": 8, "THREAD_M": 1, "THREAD_N": 8}),
        ("convolution_opencl", {"BLOCK_X": 32, "BLOCK_Y": 2, "PIXELS_X": 2, "PIXELS_Y": 4}),
        ("transpose", {"TILE": 64, "ROWS": 4}),
        ("merge_attn_states_lse_bf16", {"VEC_BYTES": 4}),
    ],
)
def test_bundled_kernel_is_right_on_odd_sizes(name: str, values: dict[str, int], pool: CompilePool):
    kernel, variant = original(name)
    made = rewritten(LiftConstants(), kernel, variant, pool.describe().limits).variant
    assert {t.name for t in made.tunables} == set(values)
    Runner(pool, kernel, variant, kernel.heldout_workloads).check([(made, values)])


def test_a_tile_and_its_depth(workshop: Path, pool: CompilePool):
    kernel, variant = foreign(workshop, _BANDS, _BANDS_TOML)
    made = rewritten(LiftConstants(), kernel, variant, pool.describe().limits).variant
    assert made.grid == ("ceildiv(n, TILE)",)
    Runner(pool, kernel, variant).check([(made, {"TILE": 64, "DEPTH": 4}), (made, {"TILE": 8, "DEPTH": 32})])
