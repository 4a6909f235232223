"""Squares move every element of the matrix, also where a part of it reaches past the edge or is smaller than a square."""

from __future__ import annotations

from pass_support import Runner, original, rewritten

from warpsmith.refactor.passes.squares import Squares
from warpsmith.spec.kernel import Workload

SIZES = {"lines": (64, 77), "odd": (130, 77), "flat": (7, 500), "thin": (3, 40), "few columns": (48, 5)}


def test_matrices_of_all_kinds(pool):
    kernel, variant = original("transpose")
    workloads = [Workload(name, {"rows": rows, "cols": cols}) for name, (rows, cols) in SIZES.items()]
    squares = rewritten(Squares(), kernel, variant, pool.describe().limits).alternatives[1]
    values = [{"WIDE": 128, "DEEP": 64}, {"WIDE": 64, "DEEP": 32}, {"WIDE": 2048, "DEEP": 1024}]
    Runner(pool, kernel, variant, workloads).check([(squares, each) for each in values])
