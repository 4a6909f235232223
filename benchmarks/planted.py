"""Does a run claim a gain where none is, and find one that was planted? Whole runs on a kernel of which the truth is known.

Eight configurations of equal code: none may be claimed to be faster (A/A). Then one of them does a tenth less work: it should
be claimed, and nothing should be claimed to be slower or faster than that. Noise is part of it: the machine is taken as it is.
`python -m benchmarks planted 10` makes ten runs of the second kind, twice as many of the first.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from warpsmith.api import Budget, load_kernel, tune

TIMES = 5
STEPS, FEWER = 40, 36  # of an iteration that has converged long before
SOURCE = """\
#ifndef SAME
#define SAME 0
#endif
#ifndef FEWER
#define FEWER 0
#endif
__global__ void roots(float* y, const float* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x + 0 * SAME;
  if (i >= n) return;
  const float a = 1 + x[i] * x[i];
  float r = a;
#pragma unroll 1
  for (int k = 0; k < (FEWER ? %d : %d); ++k) r = 0.5f * (r + a / r);
  y[i] = r;
}
"""
TOML = """\
[kernel]
name = "roots"
source = "roots.cu"
entry = "roots"

[arguments]
y = { dtype = "f32", shape = ["n"], role = "out" }
x = { dtype = "f32", shape = ["n"] }
n = { dtype = "i32", value = "n" }

[launch]
grid  = ["ceildiv(n, 256)"]
block = [256]

[workloads]
some = { n = 500000 }

[parameters]
SAME = { values = [0, 1, 2, 3, 4, 5, 6, 7], default = 0 }
"""


def main() -> None:
    numbers = [int(argument) for argument in sys.argv[1:] if argument.isdecimal()]
    times = numbers[0] if numbers else TIMES
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "roots.cu").write_text(SOURCE % (FEWER, STEPS), encoding="utf-8")
        claimed = sum(_run(folder, "", seed)[1] > 1 for seed in range(2 * times))
        print(f"A/A: a gain is claimed in {claimed} of {2 * times} runs\n", flush=True)
        found = [_run(folder, "FEWER = { values = [0, 1], default = 0 }\n", seed) for seed in range(times)]
    right = [(fewer, low, high) for fewer, low, high in found if fewer and low > 1]
    wrong = [(low, high) for fewer, low, high in found if high < 1 or (low > 1 and not fewer)]
    covered = sum(low <= STEPS / FEWER <= high for _, low, high in right)
    planted = f"{STEPS / FEWER:.2f}× planted: found in {len(right)} of {times} runs"
    print(f"{planted}, {covered} intervals cover it, {len(wrong)} claims are wrong")


def _run(folder: str, more: str, seed: int) -> tuple[int, float, float]:
    """Whether the winner does less, and the interval of its claim."""
    Path(folder, "kernel.toml").write_text(TOML + more, encoding="utf-8")
    result = tune(load_kernel(folder), budget=Budget(evaluations=8), seed=seed, agent="none")
    general = result["general"]
    low, high = general["ci95"]
    print(f"  seed {seed}: {general['config']} {general['speedup']:.3f}× [{low:.3f}, {high:.3f}]", flush=True)
    return general["config"].get("FEWER", 0), low, high
