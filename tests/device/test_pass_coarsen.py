"""Coarsened flat kernels on the CPU device: right at odd ends, and with the steps of the new loop unchecked."""

from __future__ import annotations

from pathlib import Path

from pass_support import Runner, foreign, rewritten

from warpsmith.compile.pool import CompilePool
from warpsmith.refactor.passes.coarsen import Coarsen
from warpsmith.refactor.passes.whole_steps import WholeSteps

_GELU = """
__global__ void k(float *y, const float *x, const float *gain, unsigned n)
{
    unsigned id = threadIdx.x + blockIdx.x * blockDim.x;
    const float g = gain[0];
    if (id >= n) return;
    float v = x[id];
    if (v < -8.0f) { y[id] = 0.0f; return; }
    for (int k = 0; k < 3; ++k) v = 0.5f * v * (1.0f + tanhf(v));
    y[id] = g * v;
}
"""
_GELU_TOML = """
[arguments]
y    = { dtype = "f32", shape = ["n"], role = "out" }
x    = { dtype = "f32", shape = ["n"], role = "in" }
gain = { dtype = "f32", shape = [1], role = "in" }
n    = { dtype = "u32", value = "n" }
[launch]
grid  = ["ceildiv(n, 64)"]
block = [64]
[workloads]
odd   = { n = 10007 }
whole = { n = 8192 }
"""

_SAXPY = """
__kernel void k(__global float* y, const __global float* x, const float a, const uint n) {
  const size_t i = get_global_id(0);
  if (i < n) y[i] += a * x[i];
}
"""
_SAXPY_TOML = """
[arguments]
y = { dtype = "f32", shape = ["n"], role = "inout" }
x = { dtype = "f32", shape = ["n"], role = "in" }
a = { dtype = "f32", value = 1.5 }
n = { dtype = "u32", value = "n" }
[launch]
grid  = ["ceildiv(n, 32)"]
block = [32]
[workloads]
odd = { n = 1001 }
"""


def test_opencl(pool: CompilePool, workshop: Path):
    """No bundled kernel is flat with a guard on its index."""
    kernel, variant = foreign(workshop, _SAXPY, _SAXPY_TOML, ".cl")
    made = rewritten(Coarsen(), kernel, variant, pool.describe().limits).alternatives[4]
    Runner(pool, kernel, variant).check([(made, {"PER_THREAD": p}) for p in (2, 8)])


def test_foreign(pool: CompilePool, workshop: Path):
    kernel, variant = foreign(workshop, _GELU, _GELU_TOML)
    made = rewritten(Coarsen(), kernel, variant, pool.describe().limits).alternatives[2]
    Runner(pool, kernel, variant).check([(made, {"PER_THREAD": p}) for p in (2, 16)])


def test_steps_without_checks(pool: CompilePool, workshop: Path):
    limits = pool.describe().limits
    kernel, variant = foreign(workshop, _GELU.replace("unsigned", "int").replace("return; }", "} else"), _GELU_TOML)
    made = rewritten(Coarsen(), kernel, variant, limits).alternatives[2]
    stepped = rewritten(WholeSteps(), kernel, made, limits).alternatives[2]
    Runner(pool, kernel, variant).check([(stepped, {"PER_THREAD": 8, "ITEMS": 2})])
