"""Winners of a user's own template on shapes that nobody declared: told of, and only where that says something."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from warpsmith.compile.pool import CompilePool
from warpsmith.core.configuration import Configuration
from warpsmith.spec.load import load_kernel
from warpsmith.tuning.claims.elsewhere import on_odd_shapes
from warpsmith.tuning.round import make_round

TOML = """\
[kernel]
name = "twice"
source = "twice.cu"
entry = "twice"
[arguments]
y = { dtype = "f32", shape = ["n"], role = "out" }
x = { dtype = "f32", shape = ["n"] }
[launch]
grid  = ["ceildiv(n, BLOCK)"]
block = ["BLOCK"]
[workloads]
only = { n = 40960 }
[parameters]
BLOCK = { values = [32, 64, 256], default = 64 }
"""
NEEDED = '[[constraints]]\nexpr = "n % BLOCK == 0"\nreason = "nothing is checked"\n'
# As many a tuned kernel is written: the block divides the declared size, so nothing is checked.
SOURCE = """\
#ifndef BLOCK
#define BLOCK 64
#endif
extern "C" __global__ void twice(float* y, const float* x) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  y[i] = 2.0f * x[i];
}
"""


def found(folder: Path, pool: CompilePool, block: int, *, toml: str = TOML) -> list[dict[str, Any]]:
    (folder / "twice.cu").write_text(SOURCE)
    (folder / "kernel.toml").write_text(toml)
    searched = make_round(0, load_kernel(folder), pool, pool.describe())
    return on_odd_shapes(searched, Configuration.of({"BLOCK": block}), device="cpu", seed=0)


@pytest.mark.parametrize(("block", "is_right"), [(32, True), (256, False)])
def test_a_winner_is_held_against_the_original_on_another_shape(workshop: Path, pool: CompilePool, block: int, is_right: bool):
    entries = found(workshop, pool, block)
    assert [(entry["sizes"], entry["passed"]) for entry in entries] == [({"n": 192}, is_right), ({"n": 3072}, True)]
    assert (entries[0]["reason"] is None) is is_right


def test_what_constraints_say_already_is_not_said_again(workshop: Path, pool: CompilePool):
    assert [(entry["sizes"], entry["passed"]) for entry in found(workshop, pool, 256, toml=TOML + NEEDED)] == [
        ({"n": 3072}, True)
    ]
