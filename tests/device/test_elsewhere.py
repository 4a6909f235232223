"""Winners of a user's own template on shapes that nobody declared: told of, and only where that says something."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from warpsmith.compile.pool import CompilePool
from warpsmith.core.configuration import Configuration
from warpsmith.spec.load import load_kernel
from warpsmith.tuning.claims.undeclared_shapes import on_odd_shapes
from warpsmith.tuning.evaluation.round import make_round

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


def found(folder: Path, pool: CompilePool, block: int, *, toml: str = TOML, source: str = SOURCE) -> list[dict[str, Any]]:
    (folder / "twice.cu").write_text(source)
    (folder / "kernel.toml").write_text(toml)
    searched = make_round(0, load_kernel(folder), pool, pool.describe())
    return on_odd_shapes(searched, Configuration.of({"BLOCK": block}), device="cpu", seed=0, rng=np.random.default_rng(0))


@pytest.mark.parametrize(("block", "is_right"), [(32, True), (256, False)])
def test_a_winner_is_held_against_the_original_on_another_shape(workshop: Path, pool: CompilePool, block: int, is_right: bool):
    *entries, sparse = found(workshop, pool, block)
    assert (sparse.workload, sparse.sizes, sparse.passed) == ("sparse", {"n": 40960}, True)
    sizes = [entry.sizes["n"] for entry in entries]
    assert [size & -size for size in sizes] == [64, 1024]
    assert [entry.passed for entry in entries] == [is_right, True]
    assert (entries[0].reason is None) is is_right


def test_what_constraints_say_already_is_not_said_again(workshop: Path, pool: CompilePool):
    entry, _ = found(workshop, pool, 256, toml=TOML + NEEDED)
    assert entry.sizes["n"] % 1024 == 0
    assert entry.passed


def test_a_part_that_tells_the_whole_of_many_alike_is_wrong_on_sparse_inputs(workshop: Path, pool: CompilePool):
    half = SOURCE.replace("= 2.0f * x[i];", "= 2.0f * x[BLOCK == 256 ? i / 2 * 2 : i];")
    *_, sparse = found(workshop, pool, 256, source=half)
    assert not sparse.passed
    assert sparse.reason.startswith("with inputs with few significant elements, y: ")


def test_a_fast_way_for_what_kernel_toml_fixes_is_wrong_on_other_constants(workshop: Path, pool: CompilePool):
    toml = TOML.replace("[launch]", 'a = { dtype = "f32", value = 2.0 }\n[launch]')
    taking = SOURCE.replace("const float* x)", "const float* x, float a)").replace("2.0f * x", "(BLOCK == 256 ? 2.0f : a) * x")
    for block, is_right in ((32, True), (256, False)):
        entries = {entry.workload: entry for entry in found(workshop, pool, block, toml=toml, source=taking)}
        assert entries["other-constants"].passed is is_right
    assert entries["other-constants"].reason.startswith("with scalars that differ from kernel.toml's, y: ")


def test_who_looks_for_zeros_is_found_out_by_rows_that_have_none(workshop: Path, pool: CompilePool):
    toml = TOML.replace('x = { dtype = "f32", shape = ["n"] }', 'x = { dtype = "f32", shape = ["n", 512], init = "uniform" }')
    few = """\
  float sum = 0.0f;
  const float* row = x + (size_t)i * 512;
  const int most = BLOCK == 256 && row[0] != 0.0f && row[1] != 0.0f ? 256 : 512;
  for (int c = 0; c < most; ++c) sum += row[c];
  y[i] = sum / most;
"""
    source = SOURCE.replace("  y[i] = 2.0f * x[i];\n", few)
    toml = toml.replace("n = 40960", "n = 4096") + '[reference]\npython = "reference.py:mean"\nrtol = 0.05\natol = 1e-3\n'
    (workshop / "reference.py").write_text("def mean(x):\n    return x.astype('f8').mean(axis=1)\n")
    for block, is_right in ((64, True), (256, False)):
        *_, sparse = found(workshop, pool, block, toml=toml, source=source)
        assert sparse.workload == "sparse"
        assert sparse.passed is is_right
