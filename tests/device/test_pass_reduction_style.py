"""Every style of reduction gives the right sums, for blocks of any size that its rules allow."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pass_support import Runner, original, rewritten

from warpsmith.refactor.base import Tunable
from warpsmith.refactor.passes.reduction_style import ReductionStyle


@pytest.mark.parametrize("name", ["softmax", "reduction"])
def test_bundled_kernels(name, pool):
    kernel, variant = original(name)
    limits = pool.describe().limits
    sized = replace(variant, block=("BLOCK",), tunables=(Tunable("BLOCK", (8, 1024), 1024, ""),))
    rewrite = rewritten(ReductionStyle(), kernel, sized, limits)
    assert rewrite.variant == sized
    odd = [w for w in kernel.workloads if w.heldout]
    sizes = {1: (8, 40), 2: (32,), 3: (7, 256)}
    cases = [(rewrite.alternatives[style], {"BLOCK": size}) for style, blocks in sizes.items() for size in blocks]
    Runner(pool, kernel, variant, odd).check(cases)
