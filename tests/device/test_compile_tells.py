"""What is not launched, because compiling already told: what cannot run, here or on a target, and what was measured before."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from warpsmith.compile.pool import CompilePool
from warpsmith.core.configuration import Configuration
from warpsmith.core.errors import InputError
from warpsmith.core.hardware import Language
from warpsmith.core.outcome import CompileFailed, Evaluation, Infeasible, Measured
from warpsmith.measure.bench import Bench
from warpsmith.spec.load import load_kernel
from warpsmith.tuning.evaluation.cores import Cores
from warpsmith.tuning.evaluation.evaluate import Evaluator
from warpsmith.tuning.evaluation.original import establish_original
from warpsmith.tuning.evaluation.round import make_round
from warpsmith.tuning.evaluation.targets import open_targets, require_original
from warpsmith.verify.prepared import PreparedWorkload

SOURCE = """
#ifndef BLOCK
#define BLOCK 64
#endif
#ifndef BYTES
#define BYTES 256
#endif
#ifndef IDLE
#define IDLE 0
#endif
__global__ void k(const float* in, float* out, int n) {
    __shared__ float row[BYTES / 4];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    row[threadIdx.x % (BYTES / 4)] = i < n ? in[i] : 0.0f;
    __syncthreads();
    if (IDLE > 1000000) out[0] = 1.0f;
    if (i < n) out[i] = 2.0f * row[threadIdx.x % (BYTES / 4)];
}
"""
KERNEL = """
[kernel]
name = "k"
source = "k.cu"
entry = "k"
[arguments]
in = { dtype = "f32", shape = ["n"], role = "in" }
out = { dtype = "f32", shape = ["n"], role = "out" }
n = { dtype = "i32", value = "n" }
[launch]
grid = ["ceildiv(n, BLOCK)"]
block = ["BLOCK"]
[workloads]
w = { n = 1000 }
[parameters]
BLOCK = { values = [64, 2048], default = 64 }
BYTES = { values = [256, 60000, 400000], default = 256 }
IDLE = { values = [0, 1], default = 0 }
"""
CORES = Cores(None, None)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("k")
    (folder / "k.cu").write_text(SOURCE)
    (folder / "kernel.toml").write_text(KERNEL)
    return folder


@pytest.fixture(scope="module")
def tuned(folder: Path) -> Iterator[SimpleNamespace]:
    """The original, measured, on a bench that is closed then: whoever launches anything more fails."""
    kernel = load_kernel(folder)
    with ExitStack() as stack:
        pool = stack.enter_context(CompilePool("cpu", cache_dir=None))
        targets = stack.enter_context(open_targets(["sm_90", "gfx942"], Language.CUDA, cache_dir=folder, cores=CORES))
        info = pool.describe()
        searched = make_round(1, kernel, pool, info, targets)
        require_original(searched.builder.targets, kernel)
        geometry = searched.builder.binder.geometry(kernel.default_configuration, kernel.workloads[0])
        prepared = stack.enter_context(PreparedWorkload.prepare(kernel, kernel.workloads[0], 0, geometry))
        with Bench("cpu", [prepared]) as bench:
            establish_original(searched.builder, bench, {"w": prepared})
            evaluator = Evaluator(searched.space, searched.builder, bench, rng=np.random.default_rng(0))
            baseline = evaluator(kernel.default_configuration)
        evaluator.observe(baseline)
        evaluator._bench = None
        yield SimpleNamespace(evaluate=evaluator, baseline=baseline, round=searched)


def outcome(tuned: SimpleNamespace, **values: int) -> object:
    default = dict(tuned.round.kernel.default_configuration.pairs)
    found: Evaluation = tuned.evaluate(Configuration.of({**default, **values}))
    return found.outcome


def test_the_same_code_is_not_measured_twice(tuned: SimpleNamespace):
    assert isinstance(tuned.baseline.outcome, Measured)
    assert outcome(tuned, IDLE=1) == tuned.baseline.outcome


def test_limits_of_targets_are_limits_of_the_space(tuned: SimpleNamespace):
    found = outcome(tuned, BLOCK=2048)
    assert isinstance(found, Infeasible)
    assert "on sm_90 2048 > max_threads_per_block=1024" in found.reason
    assert tuned.round.space.cartesian_size == 2 * tuned.round.space.size


def test_what_a_target_does_not_compile_or_hold_is_told_by_it(tuned: SimpleNamespace):
    found = outcome(tuned, BYTES=60000)
    assert isinstance(found, CompileFailed)
    assert found.reason.startswith("sm_90: 60000 bytes of static shared memory exceed the 49152 of a block")
    alone = tuned.round.builder.targets["gfx942"]
    assert alone.report(Configuration.of({"BLOCK": 64, "BYTES": 60000, "IDLE": 0})).problem is None


def test_what_this_device_cannot_hold_is_infeasible(tuned: SimpleNamespace):
    found = outcome(tuned, BYTES=400000)
    assert isinstance(found, Infeasible)
    limit = tuned.round.builder.binder.limits.shared_bytes_per_block
    assert f"400000 bytes of shared memory exceed the {limit} of a block (workload 'w')" in found.reason


def test_an_original_that_a_target_cannot_run_is_refused_at_once(folder: Path, tmp_path: Path):
    (tmp_path / "k.cu").write_text(SOURCE.replace("BYTES 256", "BYTES 60000"))
    (tmp_path / "kernel.toml").write_text(KERNEL.replace("60000, 400000], default = 256", "60000], default = 60000"))
    kernel = load_kernel(tmp_path)
    with (
        CompilePool("cpu", cache_dir=None) as pool,
        open_targets(["sm_90"], Language.CUDA, cache_dir=folder, cores=CORES) as targets,
    ):
        round_ = make_round(1, kernel, pool, pool.describe(), targets)
        with pytest.raises(InputError, match=r"the original kernel does not compile for sm_90: 60000 bytes[^$]*leave sm_90 out"):
            require_original(round_.builder.targets, kernel)


def test_a_target_must_take_the_language(folder: Path):
    with (
        pytest.raises(InputError, match="sm_90 does not take opencl kernels"),
        open_targets(["sm_90"], Language.OPENCL, cache_dir=folder, cores=CORES),
    ):
        pass
