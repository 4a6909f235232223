"""A claim that the machine cannot keep is not made; the run goes on with the others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

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
large = { blocks = 6000 }
[parameters]
FAST = { values = [0, 1], default = 0 }
"""
# Right on these inputs, which are all ones, without a look at them: nothing but the clock can tell.
SOURCE = """\
#ifndef FAST
#define FAST 0
#endif
extern "C" __global__ void total(float* out, const float* x) {
#if FAST == 0
  float sum[8] = {};
  for (int i = 0; i < 4096; i += 8)
    for (int k = 0; k < 8; ++k) sum[k] += x[(size_t)blockIdx.x * 4096 + i + k];
  for (int k = 1; k < 8; ++k) sum[0] += sum[k];
  out[blockIdx.x] = sum[0];
#else
  out[blockIdx.x] = 4096.0f;
#endif
}
"""


def test_what_is_faster_than_the_machine_is_refused(as_json: Callable[..., Any], warpsmith: Callable[..., Any], tmp_path: Path):
    (tmp_path / "total.cu").write_text(SOURCE)
    (tmp_path / "kernel.toml").write_text(TOML)
    result = as_json("tune", tmp_path, "--agent", "none", "--evaluations", 2)
    assert result["evaluations"]["Measured"] == 2, "it is right wherever it was verified"
    assert result["general"]["config"] == result["baseline"]["config"] == {"FAST": 0}
    assert result["per_workload"]["large"]["config"] == {"FAST": 0}
    (entry,) = (entry for entry in result["roofline"]["above"] if entry["refused"])
    assert entry["config"] == {"FAST": 1}
    assert entry["workload"] == "large"
    assert entry["roofline_fraction"] > 1.05
    shown = warpsmith("show", "last").stdout
    assert "Rejected although it seemed faster: FAST=1" in shown
    assert "MB must be moved" in shown
