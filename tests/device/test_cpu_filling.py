"""Inputs that no cache holds are written past the caches, by the device: to the same bytes as the tuner makes of a draw."""

import numpy as np
import pytest
from bench_support import UNARY, candidate, make_kernel, prepare

from warpsmith.compile.pool import CompilePool
from warpsmith.devices.registry import load_device
from warpsmith.measure import bench as bench_module
from warpsmith.measure.bench import Bench
from warpsmith.measure.caches import Caches
from warpsmith.measure.scrub import make_scrubber

SIZE = 70_001  # more than two pieces, and a rest that is no whole vector
SOURCE = """
__global__ void k(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && i != n - 1) out[i] = x[i];
}
"""


@pytest.mark.parametrize("cached", [0, 1 << 40], ids=["past the caches", "cached"])
def test_timed_launches_begin_with_what_was_drawn(monkeypatch, cached):
    monkeypatch.setattr(bench_module, "host_caches", lambda: Caches(cached, cached))
    kernel = make_kernel(*UNARY, sizes=(SIZE,))
    name = kernel.workloads[0].name
    with CompilePool("cpu", cache_dir=None) as pool:
        scrubber = make_scrubber(pool, load_device("cpu").describe())
        assert scrubber is not None
        assert scrubber.filler is not None
        copies = candidate(pool, kernel, SOURCE)
    [workload] = prepare(kernel, lambda inputs: {"out": inputs["x"]})
    with workload, Bench("cpu", [workload], scrubber=scrubber) as bench:
        draws = [workload.pool.fresh_draw() for _ in range(3)]
        for draw in [*draws, draws[-1]]:
            assert isinstance(bench.time(name, [copies], [draw]), list)
            out = workload.outputs()["out"]
            drawn = workload.inputs_of(draw)["x"]
            assert np.array_equal(out[:-1], drawn[:-1])
            assert np.isnan(out[-1]), "nothing is left of what an earlier launch computed"
