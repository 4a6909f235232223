"""Which inputs a result depends on, shown by running the original on others."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from warpsmith.compile.binding import Binder
from warpsmith.compile.pool import CompilePool
from warpsmith.measure.bench import Candidate
from warpsmith.measure.influence import influence
from warpsmith.spec.load import load_kernel
from warpsmith.template import template_of
from warpsmith.tuning.evaluation.builder import Builder
from warpsmith.verify.prepared import PreparedWorkload

TOML = """\
[kernel]
name = "pick"
source = "pick.cu"
entry = "pick"
[arguments]
y = { dtype = "f32", shape = ["n"], role = "out" }
x = { dtype = "f32", shape = ["n"] }
table = { dtype = "f16", shape = ["4096"] }
index = { dtype = "i32", shape = ["n"], init = "randint", low = 0, high = 64 }
unused = { dtype = "i32", shape = ["n"], init = "randint", low = 0, high = 64 }
[launch]
grid = ["1"]
block = ["n"]
[workloads]
only = { n = 256 }
"""
SOURCE = """\
#include <cuda_fp16.h>
extern "C" __global__ void pick(float* y, const float* x, const __half* table, const int* index, const int* unused) {
  const int i = threadIdx.x;
  y[i] = x[i] + __half2float(table[index[i]]) + 0.0f * unused[i];
}
"""


def test_elements_count_that_another_value_of_which_changes_the_result(workshop: Path, pool: CompilePool):
    (workshop / "kernel.toml").write_text(TOML)
    (workshop / "pick.cu").write_text(SOURCE)
    kernel = load_kernel(workshop)
    builder = Builder(Binder(kernel, pool.describe().limits), template_of(kernel), pool)
    original = builder.build(kernel.default_configuration, kernel.workloads)
    assert isinstance(original, Candidate)
    geometry = builder.binder.geometry(kernel.default_configuration, kernel.workloads[0])
    with PreparedWorkload.prepare(kernel, kernel.workloads[0], 0, geometry) as ready:
        before = {name: array.copy() for name, array in ready.inputs.items()}
        shares = influence("cpu", original, ready, np.random.default_rng(0))
        assert all(np.array_equal(before[name], ready.inputs[name]) for name in before)
    assert shares["x"] > 0.9
    assert shares["index"] > 0.75, "another index may pick the same value"
    assert shares["table"] < 0.2, "64 of 4,096 elements are picked"
    assert shares["unused"] == 0.0
