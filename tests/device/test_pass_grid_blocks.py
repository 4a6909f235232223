"""Fewer and more blocks on the CPU device: what strides over the grid is done all the same."""

from __future__ import annotations

from pathlib import Path

from pass_support import Runner, foreign, original, rewritten

from warpsmith.compile.pool import CompilePool
from warpsmith.refactor.passes.grid_blocks import GridBlocks

_SCALE = """
__global__ void k(float* out, const float* x, float* count, int n) {
  const int first = blockIdx.x * blockDim.x + threadIdx.x;
  for (int i = first; i < n; i += blockDim.x * gridDim.x) out[i] = 0.5f * x[i];
  for (unsigned i = first; i < n; i += gridDim.x * blockDim.x) atomicAdd(count, 1.0f);
}
"""
_SCALE_TOML = """
[arguments]
out   = { dtype = "f32", shape = ["n"], role = "out" }
x     = { dtype = "f32", shape = ["n"], role = "in" }
count = { dtype = "f32", shape = [1], role = "inout", init = "zeros" }
n     = { dtype = "i32", value = "n" }
[launch]
grid  = [16]
block = [64]
[workloads]
odd = { n = 5003 }
"""


def test_bundled_reduction_with_few_blocks(pool: CompilePool):
    kernel, variant = original("reduction")
    made = rewritten(GridBlocks(), kernel, variant, pool.describe().limits).variant
    Runner(pool, kernel, variant, kernel.heldout_workloads).check([(made, {"BLOCKS": 16})])


def test_a_fixed_grid(workshop: Path, pool: CompilePool):
    kernel, variant = foreign(workshop, _SCALE, _SCALE_TOML)
    made = rewritten(GridBlocks(), kernel, variant, pool.describe().limits).variant
    Runner(pool, kernel, variant).check([(made, {"BLOCKS": 4}), (made, {"BLOCKS": 64})])
