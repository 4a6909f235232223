"""Loops shared by several blocks on the CPU device: every step is done once, also where some blocks have none."""

from __future__ import annotations

from pathlib import Path

from pass_support import Runner, foreign, original, rewritten

from warpsmith.compile.pool import CompilePool
from warpsmith.refactor.base import Subject
from warpsmith.refactor.passes.split_grid import SplitGrid
from warpsmith.refactor.passes.whole_steps import WholeSteps

_GATHER = """
__kernel void k(__global float* out, __global float* counts, const __global float* table, const __global int* ids, const int n) {
  const int row = get_group_id(0);
  const __global float* from = table + ids[row] * n;
  for (int i = get_local_id(0); i < n; i += get_local_size(0)) {
    out[row * n + i] = from[i];
    counts[row * n + i] += 1.0f;
  }
}
"""
_GATHER_TOML = """
[arguments]
out    = { dtype = "f32", shape = ["rows", "n"], role = "out" }
counts = { dtype = "f32", shape = ["rows", "n"], role = "inout" }
table  = { dtype = "f32", shape = [16, "n"], role = "in" }
ids    = { dtype = "i32", shape = ["rows"], role = "in", init = "randint", low = 0, high = 16 }
n      = { dtype = "i32", value = "n" }
[launch]
grid  = ["rows"]
block = [32]
[workloads]
short = { rows = 5, n = 33 }
long  = { rows = 3, n = 1000 }
"""


def test_bundled_rope_is_right_on_odd_sizes(pool: CompilePool):
    kernel, variant = original("rope")
    limits = pool.describe().limits
    split = rewritten(SplitGrid(), kernel, variant, limits).alternatives
    both = WholeSteps().apply(Subject(kernel, limits, split[4]))
    whole = (both.alternatives[1], {"SPLIT": 4, "ITEMS": 1})
    Runner(pool, kernel, variant, kernel.heldout_workloads).check([(split[2], {"SPLIT": 2}), (split[0], {"SPLIT": 0}), whole])


def test_gather_with_counts_in_place(workshop: Path, pool: CompilePool):
    kernel, variant = foreign(workshop, _GATHER, _GATHER_TOML, ".cl")
    split = rewritten(SplitGrid(), kernel, variant, pool.describe().limits).alternatives
    Runner(pool, kernel, variant).check([(v, {"SPLIT": n}) for n, v in split.items()])
