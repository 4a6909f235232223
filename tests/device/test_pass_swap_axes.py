"""Swapped axes on the CPU device, with shared memory and edges that are no multiple of the block."""

from __future__ import annotations

from pathlib import Path

from pass_support import Runner, foreign, rewritten

from warpsmith.compile.pool import CompilePool
from warpsmith.refactor.passes.swap_axes import SwapAxes

_OUTER = """
__global__ void k(float *c, const float *a, const float *b, int rows, int cols) {
    __shared__ float left[8];
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int col = blockIdx.y * blockDim.y + threadIdx.y;
    if (threadIdx.y == 0 && row < rows) left[threadIdx.x] = a[row];
    __syncthreads();
    if (row < rows && col < cols) c[row * cols + col] = left[threadIdx.x] * b[col] + blockIdx.y;
}
"""
_OUTER_TOML = """
[arguments]
c    = { dtype = "f32", shape = ["rows", "cols"], role = "out" }
a    = { dtype = "f32", shape = ["rows"], role = "in" }
b    = { dtype = "f32", shape = ["cols"], role = "in" }
rows = { dtype = "i32", value = "rows" }
cols = { dtype = "i32", value = "cols" }
[launch]
grid  = ["ceildiv(rows, 8)", "ceildiv(cols, 16)"]
block = [8, 16]
[workloads]
odd = { rows = 37, cols = 101 }
"""


def test_foreign(pool: CompilePool, workshop: Path):
    kernel, variant = foreign(workshop, _OUTER, _OUTER_TOML)
    made = rewritten(SwapAxes(), kernel, variant, pool.describe().limits).alternatives[1]
    Runner(pool, kernel, variant).check([(made, {"SWAP_AXES": 1})])
