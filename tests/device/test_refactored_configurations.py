"""Whatever configuration the passes' own constraints allow is right, though no device corrected them; the default is the original.

`python -m benchmarks refactoring` does the same for every bundled kernel, with more configurations.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from warpsmith.refactor.application import apply_passes
from warpsmith.refactor.combine import combined
from warpsmith.refactor.draft import Draft
from warpsmith.refactor.registry import load_passes
from warpsmith.space.covering import covering_sample
from warpsmith.spec.load import load_kernel
from warpsmith.tuning.probes import Probe, laboratory

_TRIED = 4


# Rows with barriers and warp exchanges, tiles in shared memory, a grid-stride loop, and another language without loops.
@pytest.mark.parametrize("name", ["fused_add_rmsnorm", "transpose", "silu_and_mul_hip", "convolution_opencl"])
def test_feasible_configurations_are_right(name: str, tmp_path: Path):
    kernel = load_kernel(name)
    with laboratory(kernel, "cpu", binary_cache=tmp_path) as lab:
        probe = Probe(combined(apply_passes(Draft.of(kernel, lab.info.limits), load_passes())), lab)
        assert probe.difference() is None
        sample = covering_sample(probe.space, _TRIED, np.random.default_rng(0))
        assert len(sample) == _TRIED
        probe.prefetch(sample)
        assert {str(configuration): probe.problem(configuration) for configuration in sample} == {str(c): None for c in sample}
