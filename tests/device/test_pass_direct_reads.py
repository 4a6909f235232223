"""Tiles read straight from global memory give the same results, edges included."""

from __future__ import annotations

import pytest
from pass_support import Runner, original, rewritten

from warpsmith.refactor.passes.direct_reads import DirectReads


@pytest.mark.parametrize("name", ["transpose", "matmul", "conv2d", "matmul_opencl", "convolution_opencl"])
def test_bundled_kernels(name, pool):
    kernel, variant = original(name)
    rewrite = rewritten(DirectReads(), kernel, variant, pool.describe().limits)
    assert rewrite.variant == variant
    odd = [w for w in kernel.workloads if w.heldout]
    Runner(pool, kernel, variant, odd).check([(form, {}) for form in rewrite.alternatives.values()])
