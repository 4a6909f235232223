"""A kernel without the barriers that keep nothing apart does the same."""

from __future__ import annotations

from pass_support import Runner, foreign, rewritten

from warpsmith.refactor.passes.barriers import Barriers

REVERSED = """
__global__ void k(float* __restrict__ out, const float* __restrict__ x, int n) {
  __shared__ float tile[64];
  __syncthreads();
  const int i = threadIdx.x < n ? threadIdx.x : n - 1;
  tile[threadIdx.x] = x[blockIdx.x * n + i];
  __syncthreads();
  const float scale = x[blockIdx.x * n];
  __syncthreads();
  if (threadIdx.x < n) out[blockIdx.x * n + threadIdx.x] = tile[n - 1 - threadIdx.x] * scale;
  __syncthreads();
}
"""
TOML = """
[arguments]
out = { dtype = "f32", shape = ["rows", "n"], role = "out" }
x   = { dtype = "f32", shape = ["rows", "n"], role = "in", init = "normal" }
n   = { dtype = "i32", value = "n" }
[launch]
grid = ["rows"]
block = ["64"]
[workloads]
odd = { rows = 3, n = 37 }
"""


def test_one_of_four_barriers_is_enough(workshop, pool):
    kernel, variant = foreign(workshop, REVERSED, TOML)
    made = rewritten(Barriers(), kernel, variant, pool.describe().limits).variant
    assert made.text.count("SPARE_BARRIER();") == 3
    Runner(pool, kernel, variant).check([(made, {"BARRIERS": 1}), (made, {"BARRIERS": 0})])
