"""Squares give the results of the threads that they stand for, also where a block reaches past the edge."""

from __future__ import annotations

from pass_support import Runner, original, rewritten

from warpsmith.compile.pool import CompilePool
from warpsmith.refactor.passes.squares import Squares
from warpsmith.refactor.passes.whole_tiles import WholeTiles


def test_with_blocks_inside_and_at_the_edge():
    kernel, variant = original("transpose")
    with CompilePool("cpu", cache_dir=None) as pool:
        limits = pool.describe().limits
        squares = rewritten(Squares(), kernel, variant, limits).alternatives[1]
        unchecked = rewritten(WholeTiles(), kernel, squares, limits).variant
        chosen = [w for w in kernel.workloads if w.name in {"odd-edges", "narrow"}]
        Runner(pool, kernel, variant, chosen).check([(unchecked, {"SIDE": 4, "WHOLE": 1}), (squares, {"SIDE": 8})])
