"""Tiles read straight from global memory give the same results, edges included."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pass_support import PRODUCT, Runner, foreign, original, rewritten

from warpsmith.refactor.passes.direct_reads import DirectReads
from warpsmith.refactor.passes.lift_constants import LiftConstants
from warpsmith.refactor.passes.tile_rows import TileRows
from warpsmith.source import parse_kernel
from warpsmith.source.fill_loop_fission import with_own_fillings


@pytest.mark.parametrize("name", ["transpose", "matmul", "conv2d", "matmul_opencl", "convolution_opencl"])
def test_bundled_kernels(name, pool):
    kernel, variant = original(name)
    rewrite = rewritten(DirectReads(), kernel, variant, pool.describe().limits)
    assert rewrite.variant == variant
    odd = [w for w in kernel.workloads if w.heldout]
    Runner(pool, kernel, variant, odd).check([(form, {}) for form in rewrite.alternatives.values()])


TILED = """
#define TILE 16
#define ROWS 4
__global__ void k(float* c, const float* a, const float* b, int m, int n, int k) {
  __shared__ float from_a[TILE][TILE], from_b[TILE][TILE];
  const int row = blockIdx.y * TILE, col = blockIdx.x * TILE;
  float sums[TILE / ROWS] = {};
  for (int first = 0; first < k; first += TILE) {
#pragma unroll
    for (int i = threadIdx.y; i < TILE; i += ROWS) {
      const int depth = first + threadIdx.x;
      from_a[i][threadIdx.x] = row + i < m && depth < k ? a[(row + i) * k + depth] : 0.0f;
      const int from = first + i;
      if (from < k && col + threadIdx.x < n) {
        from_b[i][threadIdx.x] = b[from * n + col + threadIdx.x];
      } else {
        from_b[i][threadIdx.x] = 0.0f;
      }
    }
    __syncthreads();
    for (int d = 0; d < TILE; ++d) {
      for (int q = 0; q < TILE / ROWS; ++q) sums[q] += from_a[threadIdx.y + q * ROWS][d] * from_b[d][threadIdx.x];
    }
    __syncthreads();
  }
  for (int q = 0; q < TILE / ROWS; ++q) {
    const int at = row + threadIdx.y + q * ROWS;
    if (at < m && col + threadIdx.x < n) c[at * n + col + threadIdx.x] = sums[q];
  }
}
"""


def test_factors_of_a_product_that_one_loop_fills(pool, workshop):
    kernel, variant = foreign(workshop, TILED, PRODUCT.replace("BLOCK", "[16, 4]"))
    limits = pool.describe().limits
    lifted = rewritten(LiftConstants(), kernel, variant, limits).variant
    apart = replace(lifted, text=with_own_fillings(parse_kernel(lifted.text, kernel.language, lifted.entry)))
    passes = (DirectReads(), TileRows())
    forms = [form for each in passes for form in rewritten(each, kernel, apart, limits).alternatives.values()]
    assert len(forms) == 3
    Runner(pool, kernel, variant).check([(form, {"TILE": tile, "ROWS": 4}) for form in forms for tile in (16, 32)])
