"""Contiguous shares on the CPU device: every step is done once, also where there are more blocks than shares."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pass_support import Runner, foreign, original, rewritten

from warpsmith.compile.pool import CompilePool
from warpsmith.refactor.base import Rewrite, Subject
from warpsmith.refactor.passes.grid_share import GridShare
from warpsmith.refactor.passes.whole_steps import WholeSteps

_AXPY = """
__global__ void k(float* y, const float* x, const int n, const float a) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) y[i] = a * x[i];
}
"""
_AXPY_TOML = """
[arguments]
y = { dtype = "f32", shape = ["n"], role = "out" }
x = { dtype = "f32", shape = ["n"], role = "in" }
n = { dtype = "i32", value = "n" }
a = { dtype = "f32", value = 3 }
[launch]
grid  = [5]
block = [64]
[workloads]
odd  = { n = 1001 }
even = { n = 640 }
tiny = { n = 3 }
"""


def test_bundled_reduction_is_right_on_odd_sizes(pool: CompilePool):
    kernel, variant = original("reduction")
    limits = pool.describe().limits
    share = rewritten(GridShare(), kernel, variant, limits).alternatives[1]
    whole = WholeSteps().apply(Subject(kernel, limits, share))
    assert isinstance(whole, Rewrite)
    cases = [(share, {"SHARE": 1}), (whole.alternatives[4], {"SHARE": 1, "ITEMS": 4})]
    Runner(pool, kernel, variant, kernel.heldout_workloads).check(cases)


def test_more_blocks_than_shares(workshop: Path, pool: CompilePool):
    kernel, variant = foreign(workshop, _AXPY, _AXPY_TOML)
    share = rewritten(GridShare(), kernel, variant, pool.describe().limits).alternatives[1]
    Runner(pool, kernel, variant).check([(replace(share, grid=(blocks,)), {"SHARE": 1}) for blocks in ("1", "5", "33")])
