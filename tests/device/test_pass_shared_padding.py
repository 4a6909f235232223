"""Extra columns of shared arrays change no result."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pass_support import Runner, original, rewritten

from warpsmith.refactor.passes.shared_padding import SharedPadding


@pytest.mark.parametrize(("name", "columns"), [("transpose", 0), ("convolution_opencl", 4)])
def test_bundled_kernels(name, columns, pool):
    kernel, variant = original(name)
    banked = replace(pool.describe().limits, shared_banks=32)
    padded = rewritten(SharedPadding(), kernel, variant, banked).variant
    odd = [w for w in kernel.workloads if w.heldout][:1]
    Runner(pool, kernel, variant, odd).check([(padded, {"PAD": columns})])
