"""A row gives the same results wherever it waits between the passes over it, on odd sizes too."""

from __future__ import annotations

from pass_support import Runner, foreign, original, rewritten

from warpsmith.refactor.passes.staging import Staging

CENTRED = """
__global__ void k(float* __restrict__ out, const float* __restrict__ x, int n) {
  __shared__ float row[1024];
  __shared__ float total;
  const float* mine = x + blockIdx.x * n;
  if (threadIdx.x == 0) total = 0.0f;
  __syncthreads();
  float sum = 0.0f;
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    const float v = mine[i];
    row[i] = v;
    sum += v;
  }
  atomicAdd(&total, sum);
  __syncthreads();
  for (int j = threadIdx.x; j < n; j += blockDim.x) out[blockIdx.x * n + j] = row[j] - total / n;
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
odd = { rows = 3, n = 777 }
short = { rows = 2, n = 5 }
[reference]
rtol = 1e-4
atol = 1e-5
"""


def test_the_bundled_original(pool):
    kernel, variant = original("fused_add_rmsnorm")
    rewrite = rewritten(Staging(), kernel, variant, pool.describe().limits)
    odd = [w for w in kernel.workloads if w.heldout]
    assert rewrite.variant == variant
    Runner(pool, kernel, variant, odd).check([(rewrite.alternatives[1], {}), (rewrite.alternatives[2], {"KEEP": 2})])


def test_a_row_in_static_shared_memory(pool, workshop):
    kernel, variant = foreign(workshop, CENTRED, TOML)
    rewrite = rewritten(Staging(), kernel, variant, pool.describe().limits)
    Runner(pool, kernel, variant).check([(rewrite.alternatives[1], {}), (rewrite.alternatives[16], {"KEEP": 16})])
