"""What is verified beside the declared workloads: an odd shape of our own whatever a tester asks for, if the original can do it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from warpsmith.compile.binding import Binder
from warpsmith.compile.pool import CompilePool
from warpsmith.measure.bench import Bench
from warpsmith.refactor.proposal import Proposal
from warpsmith.spec.kernel import Kernel, Workload
from warpsmith.spec.load import load_kernel
from warpsmith.template import template_of
from warpsmith.tuning.evaluation.adversaries import Adversaries
from warpsmith.tuning.evaluation.builder import Builder
from warpsmith.tuning.evaluation.odd_shapes import odd_shapes
from warpsmith.tuning.templates.probes import laboratory
from warpsmith.tuning.templates.workbench import Workbench

TOML = """\
[kernel]
name = "axpy"
source = "axpy.cu"
entry = "axpy"
[arguments]
y = { dtype = "f32", shape = ["n"], role = "out" }
x = { dtype = "f32", shape = ["n"] }
n = { dtype = "i32", value = "n" }
[launch]
grid  = ["ceildiv(n, 256)"]
block = [256]
[workloads]
only = { n = 50000 }
"""
SOURCE = """\
__global__ void axpy(float* y, const float* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2.0f * x[i];
}
"""
READS_BEYOND = SOURCE.replace("2.0f * x[i]", "x[i | 511]")
ONE_SHAPE = SOURCE.replace("  if (i", "  if (n != 50000) return;\n  if (i")


@pytest.fixture
def made(tmp_path: Path) -> Callable[..., Kernel]:
    def make(source: str = SOURCE, toml: str = TOML) -> Kernel:
        (tmp_path / "kernel.toml").write_text(toml)
        (tmp_path / "axpy.cu").write_text(source)
        return load_kernel(tmp_path)

    return make


def settled(kernel: Kernel, asked_for: tuple[Workload, ...] = ()) -> tuple[list[str], dict[str, str]]:
    with ExitStack() as stack:
        pool = stack.enter_context(CompilePool("cpu", cache_dir=None))
        builder = Builder(Binder(kernel, pool.describe().limits), template_of(kernel), pool)
        tested = Adversaries(odd_shapes(kernel, np.random.default_rng(0)), asked_for, builder, 0, stack)
        bench = stack.enter_context(Bench("cpu", list(tested.ready.values())))
        return [workload.name for workload in tested.settle(bench)], tested.dropped


def test_a_tester_cannot_take_the_place_of_an_odd_shape(made):
    same = tuple(Workload(f"same-{i}", {"n": 50000}, heldout=True, scale=1.0 + i) for i in range(3))
    kernel = made()
    assert settled(kernel)[0] == ["odd-1", "large-values"]
    kept, dropped = settled(kernel, same)
    assert kept == ["odd-1", "same-0"]
    assert dropped.keys() == {"same-1", "same-2", "large-values"}


def test_shapes_on_which_the_original_computes_nothing_do_not_count(made):
    kept, dropped = settled(made(READS_BEYOND))
    assert "odd-1" not in kept
    assert "NaN" in dropped["odd-1"]


def test_a_form_for_the_declared_shape_alone_is_refused(made, tmp_path):
    kernel = made()
    form = Proposal(1, ONE_SHAPE, ("ceildiv(n, 256)",), ("256",), hypothesis="less to do")
    with laboratory(kernel, "cpu", binary_cache=tmp_path / "cache") as lab:
        problem = Workbench(kernel, lab).problem_of(form)
    assert problem is not None
    assert "y on odd-1" in problem
    assert "(odd-1: n = " in problem, "which shape that is nobody could tell otherwise"
