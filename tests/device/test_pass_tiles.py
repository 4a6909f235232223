"""Tiles filled by other threads, values loaded where they are used, and whole tiles without checks give the same results."""

from __future__ import annotations

import pytest
from pass_support import Runner, original, rewritten

from warpsmith.refactor.passes.direct_reads import DirectReads
from warpsmith.refactor.passes.late_loads import LateLoads
from warpsmith.refactor.passes.tile_rows import TileRows
from warpsmith.refactor.passes.whole_tiles import WholeTiles


@pytest.mark.parametrize(
    ("name", "workloads", "passes"),
    [
        ("matmul", {"odd-edges", "attention"}, [TileRows(), DirectReads()]),
        ("conv2d", {"odd-edges", "stem-112"}, [TileRows(), LateLoads()]),
        ("convolution_opencl", {"odd-edges", "tiny"}, [TileRows(), DirectReads()]),
    ],
)
def test_with_tiles_inside_and_at_the_edge(name, workloads, passes, pool):
    kernel, variant = original(name)
    limits = pool.describe().limits
    forms = [rewritten(each, kernel, variant, limits).alternatives[1] for each in passes]
    unchecked = [rewritten(WholeTiles(), kernel, form, limits).variant for form in forms]
    assert all(form.text.count("#if WHOLE") for form in unchecked)
    chosen = [w for w in kernel.workloads if w.name in workloads]
    Runner(pool, kernel, variant, chosen).check([(form, {"WHOLE": 1}) for form in unchecked])
