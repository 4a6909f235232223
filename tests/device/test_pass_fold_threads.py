"""Threads that do the work of several along y, or x, or both, give the same results: at edges, under guards, with tiles, and in OpenCL."""

from __future__ import annotations

import pytest
from pass_support import PRODUCT, Runner, foreign, rewritten

from warpsmith.refactor.passes.direct_reads import DirectReads
from warpsmith.refactor.passes.fold_threads import FoldColumns, FoldRows
from warpsmith.refactor.passes.tile_rows import TileRows

SIZES = PRODUCT.replace("BLOCK", "[16, 16]")
SIGNATURE = "__global__ void k(float* c, const float* a, const float* b, int m, int n, int k) {\n"
PLACE = "  const int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;\n"
SUM = "  float sum = 0.0f;\n  for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + col];\n  c[row * n + col] += sum;\n"
TILED = """
  __shared__ float from_a[16][16];
  __shared__ float from_b[16][16];
  const int tx = threadIdx.x, ty = threadIdx.y;
  float sum = 0.0f;
  const float* at = a + row * k;
  for (int first = 0; first < k; first += 16) {
    if (row < m && first + tx < k)
      from_a[ty][tx] = at[first + tx];
    else
      from_a[ty][tx] = 0.0f;
    from_b[ty][tx] = first + ty < k && col < n ? b[(first + ty) * n + col] : 0.0f;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      const float left = from_a[ty][i];
      if (left == 0.0f) continue;
      sum += left * from_b[i][tx];
    }
    for (int i = 0; i < 16; ++i) sum += 0.5f * from_a[ty][i] * from_b[i][tx];
    __syncthreads();
  }
  if (!(row < m && col < n)) return;
  c[row * n + col] += sum;
"""


@pytest.mark.parametrize(
    "body",
    [
        f"{PLACE}  if (row >= m || col >= n) return;\n{SUM}",
        f"{PLACE}  if (row < m && col < n) {{\n{SUM}  }}\n",
        f"{PLACE}{TILED}",
    ],
)
def test_products(body, pool, workshop):
    kernel, variant = foreign(workshop, f"{SIGNATURE}{body}}}\n", SIZES)
    limits = pool.describe().limits
    forms = [variant]
    if body.endswith(TILED):
        forms += [rewritten(each, kernel, variant, limits).alternatives[1] for each in (TileRows(), DirectReads())]
    folded = [rewritten(FoldRows(), kernel, form, limits).alternatives[2] for form in forms]
    columns = [rewritten(FoldColumns(), kernel, form, limits).alternatives[2] for form in forms]
    both = [rewritten(FoldColumns(), kernel, form, limits).alternatives[2] for form in folded]
    rows, wide = ({name: value} for name, value in (("ROWS_PER_THREAD", 8), ("COLUMNS_PER_THREAD", 2)))
    cases = [(folded, {"ROWS_PER_THREAD": 2}), (folded, rows), (columns, wide), (both, rows | wide)]
    Runner(pool, kernel, variant).check([(form, values) for forms, values in cases for form in forms])


OPENCL = """
__kernel void k(__global float* c, __global const float* a, __global const float* b, int m, int n, int k) {
  __local float from_b[16][16];
  const int row = get_global_id(1), col = get_global_id(0), tx = get_local_id(0), ty = get_local_id(1);
  __global const float* at = a + row * k;
  float sum = 0.0f;
  for (int first = 0; first < k; first += 16) {
    from_b[ty][tx] = first + ty < k && col < n ? b[(first + ty) * n + col] : 0.0f;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (row < m) {
      const int last = min(16, k - first);
      for (int i = 0; i < last; ++i) sum += at[first + i] * from_b[i][tx];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (row < m && col < n) c[row * n + col] += sum;
}
"""


def test_opencl(pool, workshop):
    kernel, variant = foreign(workshop, OPENCL, SIZES, suffix=".cl")
    limits = pool.describe().limits
    rows = rewritten(FoldRows(), kernel, variant, limits).alternatives[2]
    both = rewritten(FoldColumns(), kernel, rows, limits).alternatives[2]
    wide = {"ROWS_PER_THREAD": 4, "COLUMNS_PER_THREAD": 2}
    Runner(pool, kernel, variant).check([(rows, {"ROWS_PER_THREAD": value}) for value in (2, 8)] + [(both, wide)])
