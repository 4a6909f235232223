"""From the untouched original, without a model: plan, template, search, again; and the same after a kill."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SOURCE = """\
#include <math.h>

// Softplus of every row, one block a row.
__global__ void softplus(float* __restrict__ out, const float* __restrict__ in, int n) {
  const float* from = in + blockIdx.x * n;
  float* to = out + blockIdx.x * n;
  for (int i = threadIdx.x; i < n; i += blockDim.x) to[i] = logf(1.0f + expf(from[i]));
}
"""
TOML = """\
[kernel]
name = "softplus"
source = "softplus.cu"
entry = "softplus"

[arguments]
out = { dtype = "f32", shape = ["rows", "n"], role = "out" }
in  = { dtype = "f32", shape = ["rows", "n"], role = "in" }
n   = { dtype = "i32", value = "n" }

[launch]
grid  = ["rows"]
block = [256]

[workloads]
wide = { rows = 64, n = 4000 }
odd  = { rows = 3, n = 77, heldout = true }

[reference]
python = "reference.py:softplus"
rtol = 1e-4
atol = 1e-5
"""
REFERENCE = "import numpy as np\n\n\ndef softplus(in_):\n    return np.log1p(np.exp(in_))\n"
EVALUATIONS = 16


@pytest.fixture
def plain_kernel(tmp_path: Path) -> Path:
    folder = tmp_path / "softplus"
    folder.mkdir()
    for name, text in (("softplus.cu", SOURCE), ("kernel.toml", TOML), ("reference.py", REFERENCE)):
        (folder / name).write_text(text)
    return folder


def _rows(home: Path, sql: str) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(f"file:{home / 'runs.sqlite'}?mode=ro", uri=True, timeout=10)
    try:
        return connection.execute(sql).fetchall()
    except sqlite3.OperationalError:
        return []
    finally:
        connection.close()


def test_killed_in_its_second_round_and_resumed(
    plain_kernel: Path,
    command: Callable[..., list[str]],
    environment: dict[str, str],
    home: Path,
    as_json: Callable[..., Any],
    warpsmith: Callable[..., subprocess.CompletedProcess[str]],
):
    tune = command("tune", plain_kernel, "--evaluations", EVALUATIONS, "--rounds", 2, "--json")
    process = subprocess.Popen(tune, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 900
    second = "SELECT configuration, outcome FROM evaluations WHERE round = 2"
    while not (home / "runs.sqlite").exists() or len(_rows(home, second)) < 2:
        assert process.poll() is None, "the run ended before it could be stopped"
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.wait(timeout=300)
    everything = "SELECT number, round, configuration, outcome FROM evaluations ORDER BY number"
    before, planned = _rows(home, everything), _rows(home, "SELECT * FROM rounds")
    assert len(planned) == 2

    result = as_json("resume", "last")
    after = _rows(home, everything)
    assert after[: len(before)] == before, "what was recorded is untouched"
    assert len(after) == EVALUATIONS == len({row[2] for row in after}), "nothing is evaluated twice, nothing is skipped"
    assert _rows(home, "SELECT * FROM rounds") == planned, "no round is planned twice"

    assert (result["agent"], result["rounds"]) == ("rules", 2)
    first, last = result["plan"]
    assert "block_size" in first["applied"]
    assert set(first["applied"]) < set(last["applied"]), "a later template contains the earlier ones"
    assert all(entry["reason"] and entry["findings"] for entry in result["plan"])
    assert sum(entry["evaluations"] for entry in result["plan"]) == EVALUATIONS - 1, "and the baseline"
    assert result["template"]["certificate"]["level"] == "tokens"
    assert len(result["template"]["parameters"]) >= 2
    assert result["general"]["verified"]
    assert result["general"]["speedup"] >= 1
    shown = warpsmith("show", "last").stdout
    assert "In round 1:" in shown
    assert "In round 2:" in shown
    found = as_json("show", "last", "--importance")["importance"]
    assert {entry["name"] for entry in found["parameters"]} == set(result["template"]["parameters"])
    # The last template is a kernel like any other.
    assert as_json("space", Path(last["template"]).parent)["feasible"] > 1


def test_a_kernel_that_leaves_nothing_to_choose_says_so(tmp_path: Path, warpsmith: Callable[..., Any]):
    body = "out[0] = x[0];"
    source = f"__global__ void k(float* __restrict__ out, const float* __restrict__ x) {{ {body} }}\n"
    (tmp_path / "k.cu").write_text(source)
    (tmp_path / "kernel.toml").write_text(
        '[kernel]\nname = "k"\nsource = "k.cu"\nentry = "k"\n[arguments]\nout = { dtype = "f32", shape = ["n"], role = "out" }\n'
        'x = { dtype = "f32", shape = ["n"], role = "in" }\n[launch]\ngrid = [1]\nblock = [1]\n[workloads]\na = { n = 1 }\n'
    )
    done = warpsmith("tune", tmp_path, "--evaluations", 4)
    assert "offered a parameter; `warpsmith templatize`" in " ".join(done.stdout.split())
