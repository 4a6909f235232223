"""Unrolling on the CPU device: every factor compiles and changes no result, whatever the number of trips."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pass_support import Runner, foreign, original, rewritten

from warpsmith.compile.pool import CompilePool
from warpsmith.core.hardware import Limits
from warpsmith.refactor.passes.unroll import Unroll

_HORNER = """
__global__ void k(float* out, const float* x, const float* terms, int n, int degree) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float value = 0.0f;
#pragma unroll 2
  for (int t = 0; t < degree; ++t) {
    value = value * x[i] + terms[t];
  }
  out[i] = value;
}
"""
_HORNER_TOML = """
[arguments]
out    = { dtype = "f32", shape = ["n"], role = "out" }
x      = { dtype = "f32", shape = ["n"], role = "in", init = "uniform", low = -1, high = 1 }
terms  = { dtype = "f32", shape = ["degree"], role = "in" }
n      = { dtype = "i32", value = "n" }
degree = { dtype = "i32", value = "degree" }
[launch]
grid  = ["ceildiv(n, 64)"]
block = [64]
[workloads]
odd = { n = 1001, degree = 7 }
one = { n = 33, degree = 1 }
"""


def _of_a_gpu(pool: CompilePool) -> Limits:
    """All that there is to choose: a CPU is offered less."""
    return replace(pool.describe().limits, shared_banks=32)


def test_bundled_convolution_with_two_loops(pool: CompilePool):
    kernel, variant = original("convolution_opencl")
    unrolled = rewritten(Unroll(), kernel, variant, _of_a_gpu(pool)).variant
    assert {t.name: t.values for t in unrolled.tunables} == {"UNROLL_J": (0, 1, 2, 4), "UNROLL_I": (0, 1, 2, 4, 9)}
    cases = [(unrolled, {"UNROLL_J": j, "UNROLL_I": i}) for j, i in ((0, 0), (4, 2), (1, 9))]
    Runner(pool, kernel, variant, kernel.heldout_workloads).check(cases)


def test_factor_that_does_not_divide_the_trips(workshop: Path, pool: CompilePool):
    kernel, variant = foreign(workshop, _HORNER, _HORNER_TOML)
    unrolled = rewritten(Unroll(), kernel, variant, _of_a_gpu(pool)).variant
    (tunable,) = unrolled.tunables
    assert (tunable.default, tunable.values) == (2, (1, 2, 4))
    Runner(pool, kernel, variant).check([(unrolled, {tunable.name: v}) for v in tunable.values])
