"""Sizes of blocks that are conjectured: none that gives another result is left in a template."""

from __future__ import annotations

from pathlib import Path

import pytest

from warpsmith.refactor.passes.block_size import BlockSize
from warpsmith.refactor.passes.lift_constants import LiftConstants
from warpsmith.spec.load import load_kernel
from warpsmith.tuning.templates.effort import Effort
from warpsmith.tuning.templates.probes import laboratory
from warpsmith.tuning.templates.templating import templatize

TOML = """
[kernel]
name = "k"
source = "k.cu"
entry = "k"

[arguments]
out = { dtype = "f32", shape = ["n"], role = "out" }
x = { dtype = "f32", shape = ["n"], role = "in", init = "normal" }
n = { dtype = "i32", value = "n" }

[launch]
grid = ["ceildiv(n, 64)"]
block = [64]

[workloads]
w = { n = 1000 }
"""
TILE = "__shared__ float s[T]; s[tid] = i < n ? x[i] : 0; __syncthreads(); "
WRONG = (
    "if (i < n) out[i] = x[i] * (float)tid;",
    "if (i < n) out[i] = tid == 63 ? 0.0f : x[i];",
    TILE + "if (i < n) out[i] = x[i] - s[0];",
    TILE + "for (int d = 32; d > 0; d >>= 1) { if (tid < d) s[tid] += s[tid + d]; __syncthreads(); } if (i < n) out[i] = s[0];",
)
RIGHT = TILE + "if (i < n) out[i] = (tid > 0 ? s[tid - 1] : i > 0 ? x[i - 1] : 0.0f) + s[tid];"


def _values(folder: Path, body: str) -> tuple[object, ...]:
    text = "#define T 64\n__global__ void k(float* out, const float* x, int n) {\n  int tid = threadIdx.x, i = blockIdx.x * T + tid;\n"
    (folder / "k.cu").write_text(f"{text}  {body}\n}}\n")
    (folder / "kernel.toml").write_text(TOML)
    kernel = load_kernel(folder)
    with laboratory(kernel, "cpu", binary_cache=folder / "binaries") as lab:
        passes = [LiftConstants(), BlockSize()]
        found = templatize(kernel, lab, passes=passes, folder=folder / "template", effort=Effort(0))
    assert all(parameter.assumes for parameter in found.kernel.parameters)
    return tuple(value for parameter in found.kernel.parameters for value in parameter.values)


@pytest.mark.parametrize("body", WRONG)
def test_wrong_ones_are_dropped(tmp_path: Path, body: str) -> None:
    assert not _values(tmp_path, body)


def test_right_ones_are_kept(tmp_path: Path) -> None:
    assert {8, 16, 32, 64, 128, 256, 512, 1024} <= {*_values(tmp_path, RIGHT)}
