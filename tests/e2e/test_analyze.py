"""`warpsmith analyze` as a user runs it, on a machine without a GPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

KERNEL = """
#ifndef BLOCK
#define BLOCK 128
#endif
#ifndef TILE
#define TILE 64
#endif
__global__ void __launch_bounds__(BLOCK) k(float* out, const float* in, int n) {
  extern __shared__ float row[];
  for (int i = threadIdx.x; i < n; i += BLOCK) row[i % TILE] = in[i];
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += BLOCK) out[i] = row[(i + 1) % TILE];
}
"""
SPECIFICATION = """
[kernel]
name = "shifted"
source = "k.cu"
entry = "k"
[arguments]
out = { dtype = "f32", shape = ["n"], role = "out" }
input = { dtype = "f32", shape = ["n"], role = "in" }
n = { dtype = "i32", value = "n" }
[launch]
grid = [1]
block = ["BLOCK"]
shared = "4 * TILE"
[workloads]
small = { n = 4096 }
[traffic]
bytes = "8 * n"
[parameters]
BLOCK = { values = [128, 1024], default = 128 }
TILE = { values = [64, 12000, 30000], default = 64 }
"""


def run(folder: Path, home: Path, *arguments: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "warpsmith", "analyze", str(folder), "--json", *arguments]
    environment = {**os.environ, "WARPSMITH_HOME": str(home)}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_every_configuration_on_two_targets_without_a_gpu(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(KERNEL)
    (tmp_path / "kernel.toml").write_text(SPECIFICATION)
    found = run(tmp_path, tmp_path / "home", "--target", "h100-sxm", "--target", "gfx942")
    hopper, cdna = found["targets"]
    assert found["kernel"] == "shifted"

    assert hopper["original"]["occupancy"] == 1.0
    assert hopper["original"]["shared_bytes"] == 256
    assert hopper["original"]["registers"] > 0
    assert hopper["original"]["spill_bytes"] == 0
    assert hopper["limits"]["warp_size"] == 32
    assert abs(hopper["least_us"]["small"] - 8 * 4096 / 3.35e6) < 1e-6
    by_config = {(entry["config"]["BLOCK"], entry["config"]["TILE"]): entry for entry in hopper["configurations"]}
    assert len(by_config) == 6
    # 48,000 bytes and 1 KiB reserved: four blocks of four warps in 228 KiB.
    assert (by_config[128, 12000]["occupancy"], by_config[128, 12000]["limiter"]) == (0.25, "shared memory")
    assert by_config[1024, 30000]["workloads"]["small"]["blocks"] == 1

    # 120,000 bytes are more than the LDS has: the space leaves such configurations out, and says what removed them.
    assert {entry["config"]["TILE"] for entry in cdna["configurations"]} == {64, 12000}
    assert any(removal["removes"] == 2 for removal in cdna["removed"])
    assert all(entry["outcome"] == "compiled" for entry in cdna["configurations"])


def test_counters_of_a_launch_without_a_gpu(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(KERNEL)
    (tmp_path / "kernel.toml").write_text(SPECIFICATION)
    command = [sys.executable, "-m", "warpsmith", "profile", str(tmp_path), "--target", "a100-sxm-80gb", "--json"]
    environment = {**os.environ, "WARPSMITH_HOME": str(tmp_path / "home")}
    done = subprocess.run([*command, "--config", "BLOCK=1024"], check=True, capture_output=True, text=True, env=environment)
    (launch,) = json.loads(done.stdout)["workloads"]
    assert launch["block"] == [1024, 1, 1]
    assert launch["depends_on"] == []
    loads = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
    assert launch["metrics"][loads] == 4096 / 8
    by_line = {line["line"]: line["metrics"] for line in launch["lines"]}
    assert by_line[10][loads] == 4096 / 8, "the line that loads the row"
    wrong = subprocess.run([*command, "--config", "BLOCK=3"], check=False, capture_output=True, text=True, env=environment)
    assert wrong.returncode == 2
    assert "BLOCK=3 is not among its values" in wrong.stderr


def test_configurations_in_the_order_of_their_estimated_time(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(KERNEL)
    (tmp_path / "kernel.toml").write_text(SPECIFICATION)
    found = run(tmp_path, tmp_path / "home", "--target", "a100-sxm-80gb", "--rank")
    (target,) = found["targets"]
    ranking = target["ranking"]
    assert ranking["estimated"]
    assert ranking["validated"]["words"]
    times = [one["estimated_us"] for one in ranking["configurations"]]
    assert times == sorted(times)
    assert len(times) == len(target["configurations"]) == 6
    # A single block with eight times the threads has an eighth of the steps.
    fastest = ranking["configurations"][0]
    assert fastest["config"]["BLOCK"] == 1024
