"""Tiles filled by other threads, values loaded where they are used, and whole tiles without checks give the same results."""

from __future__ import annotations

import pytest
from pass_support import Runner, foreign, original, rewritten

from warpsmith.refactor.passes.direct_reads import DirectReads
from warpsmith.refactor.passes.late_loads import LateLoads
from warpsmith.refactor.passes.lift_constants import LiftConstants
from warpsmith.refactor.passes.tile_rows import TileRows
from warpsmith.refactor.passes.whole_tiles import WholeTiles


@pytest.mark.parametrize(
    ("name", "workloads", "passes"),
    [
        ("matmul", {"odd-edges", "attention"}, [TileRows(), DirectReads()]),
        ("conv2d", {"odd-edges", "stem-112"}, [TileRows(), LateLoads(), DirectReads()]),
        ("convolution_opencl", {"odd-edges", "tiny"}, [TileRows(), DirectReads()]),
    ],
)
def test_with_tiles_inside_and_at_the_edge(name, workloads, passes, pool):
    kernel, variant = original(name)
    limits = pool.describe().limits
    forms = [rewritten(each, kernel, variant, limits).alternatives[1] for each in passes]
    unchecked = [rewritten(WholeTiles(), kernel, form, limits).variant for form in forms]
    assert all(form.text.count("#if WHOLE") for form in unchecked)
    chosen = [w for w in kernel.workloads if w.name in workloads]
    values = [(form, value) for form in unchecked for value in form.tunables[-1].values[1:]]
    Runner(pool, kernel, variant, chosen).check([(form, {"WHOLE": value}) for form, value in values])


@pytest.mark.parametrize("workloads", [{"odd-edges", "tiny"}, {"square"}])
def test_tiles_that_move_back_to_end_with_the_image(workloads, pool):
    kernel, variant = original("convolution_opencl")
    limits = pool.describe().limits
    lifted = rewritten(LiftConstants(), kernel, variant, limits).variant
    direct = rewritten(DirectReads(), kernel, lifted, limits).alternatives[1]
    moved = rewritten(WholeTiles(), kernel, direct, limits).variant
    chosen = [w for w in kernel.workloads if w.name in workloads]
    shapes = [(16, 16, 1, 1), (64, 1, 2, 4), (8, 4, 4, 2), (32, 2, 8, 1)]
    cases = [dict(zip(("BLOCK_X", "BLOCK_Y", "PIXELS_X", "PIXELS_Y"), shape, strict=True)) for shape in shapes]
    Runner(pool, kernel, variant, chosen).check([(moved, {**case, "WHOLE": 2}) for case in cases])


BLURRED = """
__global__ void k(float* __restrict__ out, const float* x, int rows, int n) {{
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const float* from = x + blockIdx.x * 64;
  const int first = blockIdx.x * 64;
  float sums[4];
  for (int q = 0; q < 4; ++q) sums[q] = 0.0f;
  for (int i = 0; i < 3; ++i) {{
    for (int q = 0; q < 4; ++q) {{
      const int col = first + {column};
      if (row < rows && col < n) sums[q] += col >= i ? from[row * n + {column} - i] * (i + 1) : col;
    }}
  }}
  for (int q = 0; q < 4; ++q) {{
    const int col = first + {column};
    if (row < rows && col < n) out[row * n + col] = sums[q];
  }}
}}
"""
SHAPES = """
[arguments]
out = { dtype = "f32", shape = ["rows", "n"], role = "out" }
x = { dtype = "f32", shape = ["rows", "n"], role = "in", init = "normal" }
rows = { dtype = "i32", value = "rows" }
n = { dtype = "i32", value = "n" }

[launch]
grid = ["ceildiv(n, 64)", "ceildiv(rows, 4)"]
block = [16, 4]

[workloads]
whole = { rows = 8, n = 128 }
columns = { rows = 8, n = 131 }
rows = { rows = 7, n = 64 }
both = { rows = 5, n = 65 }
narrow = { rows = 9, n = 63 }
flat = { rows = 3, n = 200 }
"""


@pytest.mark.parametrize("column", ["q * 16 + static_cast<int>(threadIdx.x)", "static_cast<int>(threadIdx.x) * 4 + q"])
def test_a_thread_s_elements_in_either_order(column, pool, workshop):
    kernel, variant = foreign(workshop, BLURRED.format(column=column), SHAPES)
    moved = rewritten(WholeTiles(), kernel, variant, pool.describe().limits)
    assert moved.notes == ()
    Runner(pool, kernel, variant).check([(moved.variant, {"WHOLE": value}) for value in (0, 1, 2)])
