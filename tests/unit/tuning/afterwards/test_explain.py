"""A run's space as its record tells it, without the device: the limits of what was compiled for too are in it."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

from warpsmith.core.configuration import Configuration
from warpsmith.core.hardware import Limits
from warpsmith.record.run import RunHeader, RunRecord
from warpsmith.spec.load import load_kernel
from warpsmith.tuning.afterwards.explain import searched_space

KERNEL = """
[kernel]
name = "k"
source = "k.cu"
entry = "k"
[arguments]
out = { dtype = "f32", shape = ["n"], role = "out" }
[launch]
grid = [1]
block = ["BLOCK"]
[workloads]
w = { n = 32 }
[parameters]
BLOCK = { values = [32, 512], default = 32 }
"""
LARGE = Limits(1024, 1024, 1024, 64, 49152, 32, 2)


def test_limits_of_targets_are_in_the_explanation(tmp_path: Path):
    (tmp_path / "k.cu").write_text(
        "#ifndef BLOCK\n#define BLOCK 32\n#endif\n__global__ void k(float* out) { out[threadIdx.x] = 1.0f; }\n"
    )
    (tmp_path / "kernel.toml").write_text(KERNEL)
    alone = {"limits": asdict(LARGE)}  # as runs of earlier versions noted it
    beside = {**alone, "also": {"small": asdict(replace(LARGE, max_threads_per_block=256))}}
    wide = Configuration.of({"BLOCK": 512})
    kernel = load_kernel(tmp_path)
    assert wide in searched_space(_record(alone), kernel)
    (violation,) = searched_space(_record(beside), kernel).explain(wide)
    assert "small" in str(violation)
    assert "512" in str(violation)
    assert "256" in str(violation)


def _record(device_info: dict[str, object]) -> RunRecord:
    header = RunHeader("k", "kernel.toml", "", "cpu", "none", "gp", 0, {}, device_info)
    return RunRecord("k-1", header, 0.0, 0.0, "finished", None)
