"""Joined sweeps of neighbouring rows on the CPU device: right where the last block has few rows, or a single one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pass_support import Runner, foreign, original, rewritten

from warpsmith.compile.pool import CompilePool
from warpsmith.refactor.base import Pass, Rewrite, Subject
from warpsmith.refactor.passes.joined_rows import JoinedRows
from warpsmith.refactor.passes.staging import Staging
from warpsmith.refactor.passes.sweeps import Sweeps
from warpsmith.refactor.passes.whole_steps import WholeSteps
from warpsmith.spec.kernel import Workload

# Four sweeps, of which the second changes what the first found out, and the last uses all of it.
_CHAIN = """
__device__ float total(float v, float *part)
{
    part[threadIdx.x] = v;
    __syncthreads();
    float sum = 0.0f;
    for (int t = 0; t < 32; ++t) sum += part[t];
    __syncthreads();
    return sum;
}
__global__ void k(float *y, const float *x, const float *scale, int width%s)
{
    __shared__ float first[32], second[32], third[32];
    const int row = blockIdx.x;
    const float factor = scale[row];
    float *to = y + row * width;
    float sum = 0.0f;
    const float few = 1.0f;
    for (int i = threadIdx.x; i < width; i += blockDim.x)
        sum += x[row * width + i];
    float mean = total(sum, first) / width;
    for (int i = threadIdx.x; i < width; i += blockDim.x) {
        to[i] = (x[row * width + i] - mean) * factor;
        mean += 0.125f;
    }
    const float shift = total(mean, second);
    float squares = few;
    for (int i = threadIdx.x; i < width; i += blockDim.x)
        squares += to[i] * to[i];
    squares = total(squares, third);
    for (int i = threadIdx.x; i < width; i += blockDim.x)
        to[i] = to[i] * rsqrtf(squares) + shift + mean;
}
"""
_CHAIN_TOML = """
[arguments]
y     = { dtype = "f32", shape = ["rows", "width"], role = "out" }
x     = { dtype = "f32", shape = ["rows", "width"], role = "in" }
scale = { dtype = "f32", shape = ["rows"], role = "in" }
width = { dtype = "i32", value = "width" }
%s
[launch]
grid  = ["rows"]
block = [32]
[workloads]
odd = { rows = 69, width = 50 }
one = { rows = 65, width = 33 }
"""


@pytest.mark.parametrize("counted", [True, False])
def test_foreign(pool: CompilePool, workshop: Path, counted: bool):
    toml = _CHAIN_TOML % ('rows = { dtype = "i32", value = "rows" }' if counted else "")
    kernel, variant = foreign(workshop, _CHAIN % (", int rows" if counted else ""), toml)
    made = rewritten(JoinedRows(), kernel, variant, pool.describe().limits).alternatives[1]
    assert ("gridDim" in made.text) != counted
    Runner(pool, kernel, variant).check([(made, {"JOINED_ROWS": rows}) for rows in (2, 8, 32)])


@pytest.mark.parametrize(("name", "first", "sizes"), [("softmax", Sweeps(), "cols"), ("fused_add_rmsnorm", Staging(), "d")])
def test_bundled(pool: CompilePool, name: str, first: Pass, sizes: str):
    kernel, variant = original(name)
    rows = "rows" if name == "softmax" else "tokens"
    kernel = replace(kernel, workloads=(Workload("odd", {rows: 35, sizes: 1000}),))
    limits = pool.describe().limits
    other = rewritten(first, kernel, variant, limits).alternatives[1]
    made = rewritten(JoinedRows(), kernel, other, limits).alternatives[1]
    whole = WholeSteps().apply(Subject(kernel, limits, made))
    assert isinstance(whole, Rewrite)
    choice = {"SWEEPS": 1} if name == "softmax" else {"KEEP": 1}
    chosen = {**choice, "ROWS_PER_BLOCK": 8, "ITEMS": 1, "ACCUMULATORS": 1}
    Runner(pool, kernel, variant).check([(whole.alternatives[1], chosen)])
