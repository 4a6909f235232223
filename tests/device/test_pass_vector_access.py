"""Packed accesses on the CPU device: right at odd ends, in place, in several types, and under the passes that come after.

No bundled kernel accesses its memory element by element: the small ones here stand for those that do.
"""

from __future__ import annotations

from pathlib import Path

from pass_support import Runner, foreign, rewritten

from warpsmith.compile.pool import CompilePool
from warpsmith.refactor.passes.vector_access import VectorAccess
from warpsmith.refactor.passes.whole_steps import WholeSteps

_ROWS = """
// Gated rows: sixteen-bit gates, a mask for each element, the result added in place.
#include <cuda_fp16.h>
__device__ float squash(float v) { if (v > 4.0f) v = 4.0f; return v / (1.0f + expf(-v)); }
__global__ void k(float* __restrict__ y, const __half* gates, const unsigned char* mask, const float* bias, int n) {
  const long long row = blockIdx.x;
  const __half* gate = gates + row * 2 * n;
  for (int c = threadIdx.x; c < n; c += blockDim.x) {
    const long long at = row * n + c;
    const float g = squash(__half2float(gate[c])) + __half2float(gate[n + c]);
    if (mask[at] & 1) y[at] += g * bias[c % 4];
    else y[at] -= 1.0f;
  }
  for (int c = threadIdx.x; c < n; c += blockDim.x) y[row * n + c] *= bias[c % 3];
}
"""
_ROWS_TOML = """
[arguments]
y     = { dtype = "f32", shape = ["rows", "n"], role = "inout" }
gates = { dtype = "f16", shape = ["rows", "2*n"], role = "in" }
mask  = { dtype = "u8", shape = ["rows", "n"], role = "in", init = "randint", low = 0, high = 256 }
bias  = { dtype = "f32", shape = [4], role = "in" }
n     = { dtype = "i32", value = "n" }
[launch]
grid  = ["rows"]
block = [32]
[workloads]
even = { rows = 3, n = 1000 }
"""

_FLAT = """
__global__ void k(double *out, const double *a, const int *b, size_t n)
{
    size_t t = threadIdx.x + blockIdx.x * blockDim.x;
    if (t >= n) return;
    out[t] = a[t] + b[t] + b[t / 2];
}
"""
_FLAT_TOML = """
[arguments]
out = { dtype = "f64", shape = ["n"], role = "out" }
a   = { dtype = "f64", shape = ["n"], role = "in" }
b   = { dtype = "i32", shape = ["n"], role = "in", init = "randint", low = 0, high = 99 }
n   = { dtype = "u64", value = "n" }
[launch]
grid  = ["ceildiv(n, 64)"]
block = [64]
[workloads]
odd  = { n = 1003 }
tiny = { n = 1 }
"""

_OPENCL = """
__kernel void k(__global float* restrict out, const __global float* restrict x, const float a, const int n) {
  for (int i = get_global_id(0); i < n; i += get_local_size(0) * get_num_groups(0)) out[i] = a * x[i];
}
"""
_OPENCL_TOML = """
[arguments]
out = { dtype = "f32", shape = ["n"], role = "out" }
x   = { dtype = "f32", shape = ["n"], role = "in" }
a   = { dtype = "f32", value = 1.5 }
n   = { dtype = "i32", value = "n" }
[launch]
grid  = [4]
block = [32]
[workloads]
odd  = { n = 2051 }
tiny = { n = 3 }
"""


def test_rows_in_place(pool: CompilePool, workshop: Path):
    kernel, variant = foreign(workshop, _ROWS, _ROWS_TOML)
    limits = pool.describe().limits
    made = rewritten(VectorAccess(), kernel, variant, limits).alternatives[2]
    assert made.text.count(".lane[") == 4  # the mask, both gates, and y where every step writes it
    stepped = rewritten(WholeSteps(), kernel, made, limits).alternatives[2]
    Runner(pool, kernel, variant).check([(made, {"VEC": 8}), (stepped, {"VEC": 4, "ITEMS": 2})])


def test_flat_kernel_with_a_rest(pool: CompilePool, workshop: Path):
    kernel, variant = foreign(workshop, _FLAT, _FLAT_TOML)
    made = rewritten(VectorAccess(), kernel, variant, pool.describe().limits).alternatives[2]
    Runner(pool, kernel, variant).check([(made, {"VEC": 2}), (made, {"VEC": 4})])


def test_opencl(pool: CompilePool, workshop: Path):
    kernel, variant = foreign(workshop, _OPENCL, _OPENCL_TOML, ".cl")
    made = rewritten(VectorAccess(), kernel, variant, pool.describe().limits).alternatives[8]
    Runner(pool, kernel, variant).check([(made, {"VEC": 2}), (made, {"VEC": 8})])
