"""Several rows for each block on the CPU device: right where the last block has fewer, and with shared memory used again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pass_support import Runner, foreign, original, rewritten

from warpsmith.compile.pool import CompilePool
from warpsmith.refactor.passes.rows_per_block import RowsPerBlock
from warpsmith.spec.kernel import Workload

_NORM = """
// Rows without an entry in `mask` stay as they are; the pointers walk to their row.
__global__ void k(float *y, const float *x, const int *mask, int width, int rows)
{
    __shared__ float part[64];
    if (mask[blockIdx.x] == 0)
        return;
    y += (size_t)blockIdx.x * width;
    x += (size_t)blockIdx.x * width;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < width; i += blockDim.x)
        sum += x[i] * x[i];
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    for (int i = threadIdx.x; i < width; i += blockDim.x)
        y[i] = x[i] * rsqrtf(part[0] + 1e-6f);
}
"""
_NORM_TOML = """
[arguments]
y     = { dtype = "f32", shape = ["rows", "width"], role = "inout" }
x     = { dtype = "f32", shape = ["rows", "width"], role = "in" }
mask  = { dtype = "i32", shape = ["rows"], role = "in", init = "randint", low = 0, high = 3 }
width = { dtype = "i32", value = "width" }
%s
[launch]
grid  = ["rows"]
block = [64]
[workloads]
odd = { rows = 37, width = 150 }
"""
_REVERSE = """
__kernel void k(__global float* out, const __global float* x) {
  __local float row[32];
  row[get_local_id(0)] = x[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  out[get_global_id(0)] = row[31 - get_local_id(0)] + get_group_id(0);
}
"""
_REVERSE_TOML = """
[arguments]
out = { dtype = "f32", shape = ["rows", 32], role = "out" }
x   = { dtype = "f32", shape = ["rows", 32], role = "in" }
[launch]
grid  = ["rows"]
block = [32]
[workloads]
odd = { rows = 45 }
"""


def test_the_bundled_softmax(pool: CompilePool):
    kernel, variant = original("softmax")
    kernel = replace(kernel, workloads=(Workload("odd", {"rows": 21, "cols": 1000}),))
    made = rewritten(RowsPerBlock(), kernel, variant, pool.describe().limits).alternatives[2]
    Runner(pool, kernel, variant).check([(made, {"ROWS_PER_BLOCK": rows}) for rows in (2, 8)])


@pytest.mark.parametrize("counted", [True, False])
def test_foreign(pool: CompilePool, workshop: Path, counted: bool):
    source = _NORM if counted else _NORM.replace(", int rows)", ")")
    toml = _NORM_TOML % ('rows = { dtype = "i32", value = "rows" }' if counted else "")
    kernel, variant = foreign(workshop, source, toml)
    made = rewritten(RowsPerBlock(), kernel, variant, pool.describe().limits).alternatives[2]
    assert ("gridDim" in made.text) != counted
    Runner(pool, kernel, variant).check([(made, {"ROWS_PER_BLOCK": rows}) for rows in (2, 16)])


def test_opencl(pool: CompilePool, workshop: Path):
    kernel, variant = foreign(workshop, _REVERSE, _REVERSE_TOML, ".cl")
    made = rewritten(RowsPerBlock(), kernel, variant, pool.describe().limits).alternatives[2]
    Runner(pool, kernel, variant).check([(made, {"ROWS_PER_BLOCK": 4})])
