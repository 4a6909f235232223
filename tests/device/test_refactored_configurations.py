"""Whatever configuration the passes' own constraints allow is right, though no device corrected them; the default is the original.

`python -m benchmarks refactoring` does the same for every bundled kernel, with more configurations.
"""

from __future__ import annotations

import numpy as np
import pytest

from warpsmith.compile.binding import Binder
from warpsmith.compile.pool import CompilePool
from warpsmith.measure.bench import Bench
from warpsmith.refactor.drafting.application import apply_passes
from warpsmith.refactor.drafting.combine import combined
from warpsmith.refactor.drafting.draft import Draft
from warpsmith.refactor.registry import load_passes
from warpsmith.refactor.untouched import untouched
from warpsmith.space.covering import covering_sample
from warpsmith.spec.load import load_kernel
from warpsmith.tuning.templates.probes import Lab, Probe, probe_workloads
from warpsmith.verify.prepared import PreparedWorkload

_TRIED = 3


# Rows that a block adds up, threads that work alone, tiles in shared memory, and tiles with a window around them.
@pytest.mark.parametrize("name", ["fused_add_rmsnorm", "silu_and_mul_hip", "transpose", "convolution_opencl"])
def test_feasible_configurations_are_right(name: str, pool: CompilePool):
    kernel, info = untouched(load_kernel(name)), pool.describe()
    smallest = probe_workloads(kernel)[-1]
    assert smallest.heldout  # odd sizes, so tails count
    geometry = Binder(kernel, info.limits).geometry(kernel.default_configuration, smallest)
    with PreparedWorkload.prepare(kernel, smallest, 0, geometry) as prepared, Bench("cpu", [prepared]) as bench:
        assert prepared.expected is not None  # by the reference
        lab = Lab(pool, info, bench, {smallest.name: prepared})
        probe = Probe(combined(apply_passes(Draft.of(kernel, info.limits), load_passes())), lab)
        assert probe.difference() is None
        sample = covering_sample(probe.space, _TRIED, np.random.default_rng(0))
        assert len(sample) == _TRIED
        probe.prefetch(sample)
        problems = {str(configuration): probe.problem(configuration) for configuration in sample}
    assert problems == dict.fromkeys(problems)
