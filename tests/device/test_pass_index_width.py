"""32-bit indices on the CPU device: the same elements as with 64 bits."""

from __future__ import annotations

from pathlib import Path

import pytest
from pass_support import Runner, foreign, original, rewritten

from warpsmith.compile.pool import CompilePool
from warpsmith.refactor.passes.index_width import IndexWidth

_PICK = """
#include <stdint.h>
__global__ void k(float *out, const float *x, const int64_t *rows, int width) {
    const int64_t to = (int64_t)blockIdx.x * width + threadIdx.x;
    const int64_t from = rows[blockIdx.x] * width;
    const int64_t back = (int64_t)width - 1 - threadIdx.x;
    for (int i = 0; i < width; i += blockDim.x)
        if (i + (int)threadIdx.x < width) out[to + i] = x[from + back - i];
}
"""
_PICK_TOML = """
[arguments]
out   = { dtype = "f32", shape = ["count", "width"], role = "out" }
x     = { dtype = "f32", shape = [100, "width"], role = "in" }
rows  = { dtype = "i64", shape = ["count"], role = "in", init = "randint", low = 0, high = 100 }
width = { dtype = "i32", value = "width" }
[launch]
grid  = ["count"]
block = [32]
[workloads]
odd = { count = 37, width = 77 }
"""


@pytest.mark.parametrize("name", ["rope", "merge_attn_states_lse"])
def test_bundled(pool: CompilePool, name: str):
    kernel, variant = original(name)
    made = rewritten(IndexWidth(), kernel, variant, pool.describe().limits).variant
    Runner(pool, kernel, variant, kernel.heldout_workloads[:1]).check([(made, {"INDEX_BITS": bits}) for bits in (32, 64)])


def test_foreign(pool: CompilePool, workshop: Path):
    kernel, variant = foreign(workshop, _PICK, _PICK_TOML)
    made = rewritten(IndexWidth(), kernel, variant, pool.describe().limits).variant
    assert "const int64_t from" in made.text
    assert "const INDEX_INT64_T to" in made.text
    Runner(pool, kernel, variant).check([(made, {"INDEX_BITS": bits}) for bits in (32, 64)])
