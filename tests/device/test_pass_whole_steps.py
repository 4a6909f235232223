"""Whole steps on the CPU device: right for rows that are shorter than a step, exact multiples, and anything in between."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pass_support import Runner, foreign, original, rewritten

from warpsmith.compile.pool import CompilePool
from warpsmith.refactor.passes.whole_steps import WholeSteps

_SEGMENTS = """
// Sums of segments, a running maximum beside them, and an index that is not an int.
__global__ void k(float* sums, float* scaled, const float* x, const int* begins, int n) {
  __shared__ float partial[64];
  const int begin = begins[blockIdx.x], end = begins[blockIdx.x + 1];
  float sum = 0.0f;
  for (int i = begin + threadIdx.x; i < end; i += blockDim.x) {
    if (x[i] < -1.0f) continue;
    sum += x[i];
  }
  partial[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 1; i < blockDim.x; ++i) sum += partial[i];
    sums[blockIdx.x] = sum;
  }
  const unsigned stride = gridDim.x * blockDim.x;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
    scaled[i] = 0.5f * x[i];
}
"""
_SEGMENTS_TOML = """
[arguments]
sums   = { dtype = "f32", shape = ["segments"], role = "out" }
scaled = { dtype = "f32", shape = ["n"], role = "out" }
x      = { dtype = "f32", shape = ["n"], role = "in" }
begins = { dtype = "i32", shape = ["segments + 1"], role = "in", init = { python = "begins.py:begins" } }
n      = { dtype = "i32", value = "n" }
[launch]
grid  = ["segments"]
block = [64]
[workloads]
few  = { segments = 5, n = 1000 }
many = { segments = 40, n = 40 }
"""
_BEGINS = """
import numpy as np

def begins(shape, rng, n):
    inner = rng.integers(0, n + 1, shape[0] - 2)
    return np.sort(np.concatenate([[0], inner, [n]])).astype(np.int32)
"""


def test_bundled_kernel_is_right_on_odd_sizes(pool: CompilePool):
    kernel, variant = original("reduction")
    answer = rewritten(WholeSteps(), kernel, variant, pool.describe().limits)
    Runner(pool, kernel, variant, kernel.heldout_workloads).check([(answer.alternatives[4], {"ITEMS": 4})])


def test_segments_with_a_continue_and_an_unsigned_grid_stride_loop(workshop: Path, pool: CompilePool):
    (workshop / "begins.py").write_text(_BEGINS)
    kernel, variant = foreign(workshop, _SEGMENTS, _SEGMENTS_TOML)
    answer = rewritten(WholeSteps(), kernel, variant, pool.describe().limits)
    cases = [
        (replace(v, block=(block,)), {"ITEMS": n}) for n, v in answer.alternatives.items() for block in ("64", "8") if n in {1, 4}
    ]
    assert all(v.text.count("first < whole") == 2 for v, _ in cases)
    Runner(pool, kernel, variant).check(cases)
