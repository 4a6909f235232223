"""Whatever configuration the passes' own constraints allow is right, though no device corrected them; the default is the original.

`python -m benchmarks refactoring` does the same for every bundled kernel, with more configurations.
"""

from __future__ import annotations

from pathlib import Path

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
from warpsmith.spec.kernel import Kernel
from warpsmith.spec.load import load_kernel
from warpsmith.tuning.templates.probes import Lab, Probe, probe_workloads
from warpsmith.verify.prepared import PreparedWorkload

_TRIED = 3


_IN_GROUPS = """
#define VEC 4
__global__ void act(float* __restrict__ out, const float* __restrict__ in, int d) {
  const float* row = in + (size_t)blockIdx.x * 2 * d;
  float* to = out + (size_t)blockIdx.x * d;
  for (int i = threadIdx.x * VEC; i < d; i += blockDim.x * VEC) {
    float4 a = *reinterpret_cast<const float4*>(row + i), b = *reinterpret_cast<const float4*>(row + d + i);
    *reinterpret_cast<float4*>(to + i) = make_float4(expf(a.x) * b.x, a.y * b.y, a.z * b.z, a.w + b.w);
  }
}
"""
_REFERENCE = """
import numpy as np

def act(**given):
    rows = given["in"].astype(np.float64)
    a, b = np.split(rows, 2, axis=1)
    place = np.arange(a.shape[1]) % 4
    return np.where(place == 0, np.exp(a) * b, np.where(place == 3, a + b, a * b))
"""
_TOML = """
[kernel]
name = "act"
source = "act.cu"
entry = "act"
[arguments]
out = { dtype = "f32", shape = ["tokens", "d"], role = "out" }
in = { dtype = "f32", shape = ["tokens", "2 * d"], role = "in" }
d = { dtype = "i32", value = "d" }
[launch]
grid = ["tokens"]
block = [64]
[reference]
python = "reference.py:act"
[workloads]
usual = { tokens = 16, d = 1104 }
odd = { tokens = 3, d = 516, heldout = true }
"""


# Rows that a block adds up, threads that work alone, tiles in shared memory, and tiles with a window around them.
@pytest.mark.parametrize("name", ["fused_add_rmsnorm", "silu_and_mul_hip", "transpose", "convolution_opencl"])
def test_feasible_configurations_are_right(name: str, pool: CompilePool):
    _tried(untouched(load_kernel(name)), pool)


def test_so_they_are_of_a_loop_that_was_made_to_count_its_groups(pool: CompilePool, tmp_path: Path):
    (tmp_path / "act.cu").write_text(_IN_GROUPS)
    (tmp_path / "kernel.toml").write_text(_TOML)
    (tmp_path / "reference.py").write_text(_REFERENCE)
    assert {"BLOCK", "SPLIT", "ITEMS"} <= _tried(load_kernel(tmp_path), pool)


def _tried(kernel: Kernel, pool: CompilePool) -> set[str]:
    """The parameters, of which a few configurations were right."""
    info = pool.describe()
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
    return {parameter.name for parameter in probe.space.parameters}
