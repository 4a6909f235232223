"""Reciprocals on the CPU device: within the tolerance, alone and in packed steps. No bundled kernel divides in a loop."""

from __future__ import annotations

from pathlib import Path

from pass_support import Runner, foreign, rewritten

from warpsmith.compile.pool import CompilePool
from warpsmith.refactor.passes.reciprocal import Reciprocal
from warpsmith.refactor.passes.vector_access import VectorAccess

_SHARES = """
__global__ void k(float* out, const float* x, const float* total, int n) {
  const float whole = total[blockIdx.x] + 3.0f;
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    out[blockIdx.x * n + i] = expf(x[blockIdx.x * n + i]) / whole;
}
"""
_TOML = """
[arguments]
out   = { dtype = "f32", shape = ["rows", "n"], role = "out" }
x     = { dtype = "f32", shape = ["rows", "n"], role = "in" }
total = { dtype = "f32", shape = ["rows"], role = "in", init = "uniform", low = 0, high = 9 }
n     = { dtype = "i32", value = "n" }
[launch]
grid  = ["rows"]
block = [32]
[workloads]
only = { rows = 3, n = 102 }
"""


def test_alone_and_in_packed_steps(pool: CompilePool, workshop: Path):
    kernel, variant = foreign(workshop, _SHARES, _TOML)
    limits = pool.describe().limits
    alone = rewritten(Reciprocal(), kernel, variant, limits).variant
    packed = rewritten(VectorAccess(), kernel, variant, limits).alternatives[2]
    both = rewritten(Reciprocal(), kernel, packed, limits).variant
    assert "* inverse_whole" in both.text
    Runner(pool, kernel, variant).check([(alone, {"RECIPROCAL": 1}), (both, {"VEC": 2, "RECIPROCAL": 1})])
