"""Threads that do the work of several along y give the same results: at edges, under guards, with tiles, and in OpenCL."""

from __future__ import annotations

import pytest
from pass_support import Runner, foreign, rewritten

from warpsmith.refactor.passes.direct_reads import DirectReads
from warpsmith.refactor.passes.fold_threads import FoldThreads
from warpsmith.refactor.passes.tile_rows import TileRows

SIZES = """
[arguments]
c = { dtype = "f32", shape = ["m", "n"], role = "inout", init = "normal" }
a = { dtype = "f32", shape = ["m", "k"], role = "in", init = "normal" }
b = { dtype = "f32", shape = ["k", "n"], role = "in", init = "normal" }
m = { dtype = "i32", value = "m" }
n = { dtype = "i32", value = "n" }
k = { dtype = "i32", value = "k" }

[launch]
grid = ["ceildiv(n, 16)", "ceildiv(m, 16)"]
block = [16, 16]

[workloads]
whole = { m = 48, n = 32, k = 64 }
odd = { m = 37, n = 21, k = 43 }
"""
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
def test_products(body, pool, tmp_path):
    kernel, variant = foreign(tmp_path, f"{SIGNATURE}{body}}}\n", SIZES)
    limits = pool.describe().limits
    forms = [variant]
    if body.endswith(TILED):
        forms += [rewritten(each, kernel, variant, limits).alternatives[1] for each in (TileRows(), DirectReads())]
    folded = [rewritten(FoldThreads(), kernel, form, limits).alternatives[2] for form in forms]
    values = ({"ROWS_PER_THREAD": value} for value in (2, 8))
    Runner(pool, kernel, variant).check([(form, value) for value in values for form in folded])


def test_opencl(pool, tmp_path):
    pointers = (
        SIGNATURE.replace("__global__", "__kernel")
        .replace("float*", "__global float*")
        .replace("const __global", "__global const")
    )
    body = "  int row = get_global_id(1), col = get_global_id(0);\n  if (row < m && col < n) {\n" + SUM + "  }\n}\n"
    kernel, variant = foreign(tmp_path, pointers + body, SIZES, suffix=".cl")
    made = rewritten(FoldThreads(), kernel, variant, pool.describe().limits).alternatives[2]
    Runner(pool, kernel, variant).check([(made, {"ROWS_PER_THREAD": value}) for value in (2, 4)])
