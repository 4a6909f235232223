"""`warpsmith compare` killed in its second run and asked for again: it goes on, and says which mode is how good."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

SOURCE = """\
__global__ void scale(float* out, const float* in, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = 2.0f * in[i];
}
"""
TOML = """\
[kernel]
name = "scale"
source = "scale.cu"
entry = "scale"

[arguments]
out = { dtype = "f32", shape = ["n"], role = "out" }
in  = { dtype = "f32", shape = ["n"], role = "in" }
n   = { dtype = "i32", value = "n" }

[launch]
grid  = [1]
block = [256]

[workloads]
long = { n = 4000 }
"""


def _evaluated(home: Path) -> dict[str, int]:
    """Evaluations by run."""
    try:
        connection = sqlite3.connect(f"file:{home / 'runs.sqlite'}?mode=ro", uri=True, timeout=10)
        with connection:
            found = connection.execute("SELECT run, count(*) FROM evaluations GROUP BY run ORDER BY min(started_at)").fetchall()
        connection.close()
    except sqlite3.OperationalError:
        return {}
    return dict(found)


def test_a_killed_comparison_goes_on(
    tmp_path: Path, home: Path, command: Callable[..., list[str]], environment: dict[str, str], as_json: Callable[..., Any]
):
    (tmp_path / "kernel.toml").write_text(TOML)
    (tmp_path / "scale.cu").write_text(SOURCE)
    asked = ("compare", tmp_path, "--seeds", 1, "--evaluations", 4, "--rounds", 1, "--output", tmp_path / "out")
    process = subprocess.Popen(command(*asked), env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 900
    while len(_evaluated(home)) < 2:
        assert process.poll() is None, "it ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.kill()
    process.wait(timeout=300)
    before = _evaluated(home)

    found = as_json(*asked)
    after = _evaluated(home)
    assert list(after) == list(before), "no run is made twice"
    assert list(after.values()) == [4, 4], "equal budgets, and nothing evaluated twice"
    for mode in ("template", "direct"):
        side = found[mode]
        assert (len(side["speedups"]), side["evaluations"]) == (1, [4])
        assert side["median_speedup"] == side["speedups"][0] > 0
        assert side["spread"] == 0
    assert {run["run"] for run in found["runs"]} == set(after)
    written = json.loads((tmp_path / "out" / "compare.json").read_text())
    assert written["template"] == found["template"]
    assert "| template + search |" in (tmp_path / "out" / "compare.md").read_text()
    assert (tmp_path / "out" / "compare.svg").stat().st_size > 5000
