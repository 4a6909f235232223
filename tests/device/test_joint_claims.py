"""What a comparison claims of its runs together is held to what the machine can do, as a single run's claims are."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from warpsmith.compile.pool import CompilePool
from warpsmith.core.configuration import Configuration
from warpsmith.measure.bench import Bench, Candidate
from warpsmith.measure.policy import Pace
from warpsmith.measure.roofline import make_roofline
from warpsmith.spec.load import load_kernel
from warpsmith.tuning.comparison import joint
from warpsmith.tuning.comparison.contenders import Contender
from warpsmith.tuning.evaluation.original import establish_original
from warpsmith.tuning.evaluation.round import make_round
from warpsmith.tuning.order import Mode
from warpsmith.verify.prepared import prepare_all

TOML = """\
[kernel]
name = "total"
source = "total.cu"
entry = "total"
[arguments]
out = { dtype = "f32", shape = ["blocks"], role = "out" }
x = { dtype = "f32", shape = ["blocks * 4096"], init = "ones" }
[launch]
grid = ["blocks"]
block = ["1"]
[workloads]
large = { blocks = 4000 }
[parameters]
FAST = { values = [0, 1, 2], default = 0 }
"""
# FAST=2 is right on these inputs, which are all ones, without a look at them; FAST=1 is honest.
SOURCE = """\
#ifndef FAST
#define FAST 0
#endif
extern "C" __global__ void total(float* out, const float* x) {
#if FAST == 2
  out[blockIdx.x] = 4096.0f;
#else
  const int lanes = FAST ? 16 : 1;
  float sum[16] = {};
  for (int i = 0; i < 4096; i += lanes)
    for (int k = 0; k < lanes; ++k) sum[k] += x[(size_t)blockIdx.x * 4096 + i + k];
  for (int k = 1; k < lanes; ++k) sum[0] += sum[k];
  out[blockIdx.x] = sum[0];
#endif
}
"""


def test_a_finalist_that_is_faster_than_the_machine_gives_way_to_the_next(
    workshop: Path, pool: CompilePool, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(joint, "COMPARISON", Pace(seconds=0.05, least=6))
    monkeypatch.setenv("WARPSMITH_CLAIM_PROCESSES", "2")
    (workshop / "total.cu").write_text(SOURCE)
    (workshop / "kernel.toml").write_text(TOML)
    kernel = load_kernel(workshop)
    searched = make_round(0, kernel, pool, pool.describe())
    with contextlib.ExitStack() as stack:
        ready = prepare_all(searched.builder.binder, kernel.workloads, 0, stack)
        with Bench("cpu", list(ready.values())) as bench:
            original = establish_original(searched.builder, bench, ready)
        points = [Configuration.of({"FAST": fast}) for fast in (0, 1, 2)]
        built = [cast("Candidate", searched.builder.build(point, kernel.workloads)) for point in points]
        measuring = joint.Joint(
            device="cpu",
            prepared=ready,
            original=original,
            weights={"large": 1.0},
            rng=np.random.default_rng(0),
            info=pool.describe(),
            roofline=make_roofline(kernel, pool, pool.describe()),
            say=lambda _: None,
        )
        record: Any = None  # of the run that the finalists are from: what is claimed is not on it
        [claim] = measuring.claims([Contender(record, Mode.TEMPLATE, (), tuple(zip(points, built, strict=True)))])
    assert claim.configuration["FAST"] in {0, 1}
    [out] = [entry for entry in measuring.above if entry.refused]
    assert (out.workload, out.config) == ("large", {"FAST": 2})
    assert "must be moved" in out.reason
