"""Fixed numbers of blocks on the CPU device: elements and rows that are no multiple of the grid."""

from __future__ import annotations

from pathlib import Path

import pytest
from pass_support import Runner, foreign, rewritten

from warpsmith.compile.pool import CompilePool
from warpsmith.refactor.passes.persistent import Persistent

_CLAMP = """
__global__ void k(float *y, const float *x, int n, float low) {
    int tid = blockIdx.x * blockDim.x + threadIdx.x;
    if (tid < n) {
        if (x[tid] < low) { y[tid] = low; return; }
        y[tid] = x[tid];
    }
}
"""
_CLAMP_TOML = """
[arguments]
y   = { dtype = "f32", shape = ["n"], role = "out" }
x   = { dtype = "f32", shape = ["n"], role = "in" }
n   = { dtype = "i32", value = "n" }
low = { dtype = "f32", value = -0.5 }
[launch]
grid  = ["ceildiv(n, 64)"]
block = [64]
[workloads]
odd  = { n = 10007 }
tiny = { n = 5 }
"""
_SUMS = """
__global__ void k(float *sums, const float *x, int rows, int width) {
    __shared__ float part[32];
    const float *mine = x + blockIdx.x * width;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < width; i += blockDim.x) sum += mine[i];
    part[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 1; i < 32; ++i) sum += part[i];
        sums[blockIdx.x] = sum;
    }
}
"""
_SUMS_TOML = """
[arguments]
sums  = { dtype = "f32", shape = ["rows"], role = "out" }
x     = { dtype = "f32", shape = ["rows", "width"], role = "in" }
rows  = { dtype = "i32", value = "rows" }
width = { dtype = "i32", value = "width" }
[launch]
grid  = ["rows"]
block = [32]
[workloads]
odd = { rows = 67, width = 100 }
"""


@pytest.mark.parametrize(("source", "toml"), [(_CLAMP, _CLAMP_TOML), (_SUMS, _SUMS_TOML)], ids=["elements", "rows"])
def test_foreign(pool: CompilePool, workshop: Path, source: str, toml: str):
    """No bundled kernel knows inside how many rows or elements there are, but for those that split their index."""
    kernel, variant = foreign(workshop, source, toml)
    made = rewritten(Persistent(), kernel, variant, pool.describe().limits).alternatives[1]
    Runner(pool, kernel, variant).check([(made, {"BLOCKS_PER_UNIT": count}) for count in (1, 4)])
