"""Kernels that crash, hang, scribble, trap, race or lie for some configurations: the run ends well and says so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

SOURCE = """
#ifndef MODE
#define MODE 0
#endif
#include <assert.h>

__device__ int launches;

__global__ void hostile(float* out, const float* in, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float value = 2.0f * in[i];
#if MODE == 13
  __shared__ float row[128];                            // the fastest, and no output shows the race
  row[threadIdx.x] = value;
  value = row[threadIdx.x] + 0.0f * row[threadIdx.x ^ 1];
#else
  for (int k = 0; k < (MODE == 1 ? 1024 : 4096); ++k) value += 0.0f * k;   // one is faster, and honest
#endif
#if MODE == 2
  value += 1.0f;                                        // wrong
#elif MODE == 3
  value = 0.0f / (value - value);                       // not a number
#elif MODE == 4
  *(volatile float*)(size_t)(16 * i) = value;           // null pages
#elif MODE == 5
  volatile int turn = 1;
  while (turn) turn = 1 + (int)(in[i] > 1e30f);         // for ever
#elif MODE == 6
  out[i + n] = value;                                   // just past the end
#elif MODE == 7
  out[i + (1ll << 40)] = value;                         // far away
#elif MODE == 8
  value = undeclared;                                   // does not compile
#elif MODE == 9
  assert(i < 0);
#elif MODE == 10
  const_cast<float*>(in)[i] = 0.0f;                     // changes its input
#elif MODE == 11
  if (i % 2) return;                                    // leaves half of it unwritten
#elif MODE == 12
  if (i == 0 && ++launches > 28) const_cast<float*>(in)[5] = 7.0f;   // changes its input, but late
#endif
  out[i] = value;
}
"""

KERNEL = """
[kernel]
name = "hostile"
source = "hostile.cu"
entry = "hostile"

[arguments]
out = { dtype = "f32", shape = ["n"], role = "out" }
in = { dtype = "f32", shape = ["n"], role = "in" }
n = { dtype = "i32", value = "n" }

[launch]
grid = ["ceildiv(n, 128)"]
block = [128]

[workloads]
only = { n = 4096 }

[parameters]
MODE = { values = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13], default = 0 }
"""


def test_every_misdeed_is_an_outcome(as_json: Callable[..., Any], environment: dict[str, str], tmp_path: Path):
    environment["WARPSMITH_RACECHECK"] = "on"
    folder = tmp_path / "hostile"
    folder.mkdir()
    (folder / "hostile.cu").write_text(SOURCE)
    (folder / "kernel.toml").write_text(KERNEL)
    result = as_json("tune", folder, "--strategy", "exhaustive", "--evaluations", 100)
    assert result["general"]["verified"]
    assert result["general"]["config"]["MODE"] == 1
    listed = {entry["config"]["MODE"]: entry for entry in as_json("show", "last", "--evaluations")["evaluation_list"]}
    outcomes = {mode: entry["outcome"] for mode, entry in listed.items()}
    assert outcomes.pop(12) in {"Measured", "WrongResult"}  # right at first, and found out by the end at the latest
    assert outcomes == {
        0: "Measured",
        1: "Measured",
        2: "WrongResult",
        3: "WrongResult",
        4: "Crashed",
        5: "TimedOut",
        6: "WrongResult",
        7: "Crashed",
        8: "CompileFailed",
        9: "LaunchFailed",
        10: "WrongResult",
        11: "WrongResult",
        13: "Measured",
    }
    checks = result["evidence"]["checks"]
    assert set(checks["done"]) == {"memcheck", "initcheck", "racecheck"}
    assert "shared memory 'row'" in checks["out"]["MODE=13"]
    assert "past its end" in listed[6]["summary"]
    assert "undeclared" in listed[8]["summary"]
    assert "assert" in listed[9]["summary"]
    assert "input was changed" in listed[10]["summary"]
