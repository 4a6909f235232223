"""Rows shared by the lanes of a warp, on the CPU device: sums, maxima, values stored once, rows shorter than a warp."""

from __future__ import annotations

from pathlib import Path

from pass_support import Runner, foreign, rewritten

from warpsmith.compile.pool import CompilePool
from warpsmith.refactor.passes.row_lanes import RowLanes

_SOFTMAX = """
__global__ void k(float* out, int* best, const float* x, int rows, int n)
{
    int r = blockDim.x * blockIdx.x + threadIdx.x;
    if (r >= rows) return;
    const float* row = x + r * n;
    float most = row[0];
    for (int j = 1; j < n; j++) if (row[j] > most) most = row[j];
    float sum = 0;
    for (int j = 0; j < n; ++j) {
        float e = expf(row[j] - most);
        out[r * n + j] = e;
        sum += e;
    }
    for (int j = 0; j < n; ++j)
        out[r * n + j] /= sum;
    int place = 0;
    for (int j = 0; j < n && row[place] < most; ++j) place = j;
    if (place > 0) best[r] = place; else best[r] = -1;
}
"""
_SOFTMAX_TOML = """
[arguments]
out  = { dtype = "f32", shape = ["rows", "n"], role = "out" }
best = { dtype = "i32", shape = ["rows"], role = "out" }
x    = { dtype = "f32", shape = ["rows", "n"], role = "in" }
rows = { dtype = "i32", value = "rows" }
n    = { dtype = "i32", value = "n" }
[launch]
grid  = ["ceildiv(rows, 64)"]
block = [64]
[workloads]
long  = { rows = 70, n = 1000 }
short = { rows = 130, n = 5 }
"""


def test_rows_by_warps(pool: CompilePool, workshop: Path):
    kernel, plain = foreign(workshop / "row_lanes", _SOFTMAX, _SOFTMAX_TOML)
    made = rewritten(RowLanes(), kernel, plain, pool.describe().limits).alternatives[32]
    Runner(pool, kernel, plain).check([(made, {})])
