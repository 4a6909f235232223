"""Two-dimensional blocks on the CPU device: right where rows end inside a block, and where a block has more rows than there are."""

from __future__ import annotations

from pathlib import Path

import pytest
from pass_support import Runner, foreign, original, rewritten

from warpsmith.compile.pool import CompilePool
from warpsmith.refactor.passes.map_2d import Map2D

_BIAS = """
// A bias and a row's scale, added by a flat kernel; negative elements stay as they were.
__device__ float scaled(float value, float by) { return value * by; }

__global__ void k(float *y, const float *bias, const float *scale, unsigned total, unsigned width)
{
    unsigned idx = threadIdx.x + blockDim.x * blockIdx.x;
    if (idx < total) {
        float v = y[idx];
        const float s = scale[idx / width];
        if (v < 0.0f)
            return;
        v = scaled(v, s);
        y[idx] = v + bias[idx % width];  // one bias for each column
    }
}
"""
_BIAS_TOML = """
[arguments]
y     = { dtype = "f32", shape = ["rows", "width"], role = "inout" }
bias  = { dtype = "f32", shape = ["width"], role = "in" }
scale = { dtype = "f32", shape = ["rows"], role = "in" }
total = { dtype = "u32", value = "rows * width" }
width = { dtype = "u32", value = "width" }
[launch]
grid  = ["ceildiv(rows * width, 128)"]
block = [128]
[workloads]
odd  = { rows = 37, width = 24 }
tiny = { rows = 3, width = 8 }
"""
_STRIDED = """
__kernel void k(__global float* out, const __global float* x, const __global float* w, const int rows, const int cols) {
  for (int i = get_local_id(0); i < cols * rows; i += get_local_size(0)) {
    const int r = i / cols, c = i % cols;
    const float weight = w[i % cols];
    out[get_group_id(0) * rows * cols + i] = x[(get_group_id(0) * rows + r) * cols + c] * weight;
  }
}
"""
_STRIDED_TOML = """
[arguments]
out  = { dtype = "f32", shape = ["groups", "rows", "cols"], role = "out" }
x    = { dtype = "f32", shape = ["groups", "rows", "cols"], role = "in" }
w    = { dtype = "f32", shape = ["cols"], role = "in" }
rows = { dtype = "i32", value = "rows" }
cols = { dtype = "i32", value = "cols" }
[launch]
grid  = ["groups"]
block = [64]
[workloads]
odd  = { groups = 3, rows = 7, cols = 20 }
"""
_SOFT = """
__kernel void k(__global float* out, __global float* lse, const __global float* x, const __global float* s, const int rows, const int n) {
  const int i = get_global_id(0);
  const int row = i / n;
  if (row >= rows) return;
  const int before = row * n;
  const float weight = exp(s[row]);
  out[before + i % n] = x[i] * weight;
  if (i % n == 0) {
    lse[row] = log(weight) + 1.0f;
  }
}
"""
_SOFT_TOML = """
[arguments]
out  = { dtype = "f32", shape = ["rows", "n"], role = "out" }
lse  = { dtype = "f32", shape = ["rows"], role = "out" }
x    = { dtype = "f32", shape = ["rows", "n"], role = "in" }
s    = { dtype = "f32", shape = ["rows"], role = "in" }
rows = { dtype = "i32", value = "rows" }
n    = { dtype = "i32", value = "n" }
[launch]
grid  = ["ceildiv(rows * n, 64)"]
block = [64]
[workloads]
odd  = { rows = 37, n = 24 }
tiny = { rows = 3, n = 4 }
"""


@pytest.mark.parametrize("name", ["merge_attn_states_lse", "rope"])
def test_bundled(pool: CompilePool, name: str):
    kernel, variant = original(name)
    answer = rewritten(Map2D(), kernel, variant, pool.describe().limits)
    assert answer.variant == variant
    shapes = [(1, 1, 1), (4, 2, 1), (8, 5, 2), (32, 10, 4)]  # half a head of 80 has 10 packs, a whole one 20
    cases = [
        (made, {"MAP": value, "ROWS": r, "COLS": c, "ROW_STEPS": s})
        for value, made in answer.alternatives.items()
        for r, c, s in shapes[value - 1 :]
    ]
    Runner(pool, kernel, variant, kernel.heldout_workloads).check(cases)


@pytest.mark.parametrize(
    ("source", "toml", "suffix", "most"),
    [(_BIAS, _BIAS_TOML, ".cu", 1), (_STRIDED, _STRIDED_TOML, ".cl", 1), (_SOFT, _SOFT_TOML, ".cl", 2)],
)
def test_foreign(pool: CompilePool, workshop: Path, source: str, toml: str, suffix: str, most: int):
    kernel, variant = foreign(workshop, source, toml, suffix)
    made = rewritten(Map2D(), kernel, variant, pool.describe().limits).alternatives
    assert max(made) == most
    shapes = [(1, 1, 1), (4, 2, 1), (8, 4, 2)]
    cases = [(made[most], {"MAP": most, "ROWS": r, "COLS": c, "ROW_STEPS": s}) for r, c, s in shapes]
    Runner(pool, kernel, variant).check(cases)
