from __future__ import annotations

import pytest
from source_support import cuda

from warpsmith.source import Names
from warpsmith.source.tree import of_kind, text_of
from warpsmith.source.uniform import Uniformity

_SUM = """
__device__ float warp_sum(float v) {
  for (int o = 16; o > 0; o /= 2) v += __shfl_xor_sync(0xffffffff, v, o);
  return v;
}
__device__ float block_sum(float v) {
  __shared__ float partial[32];
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  v = warp_sum(v);
  if (lane == 0) partial[warp] = v;
  __syncthreads();
  v = warp_sum(lane < blockDim.x / 32 ? partial[lane] : 0.0f);
  __syncthreads();
  return v;
}
__device__ int mine(int a) { return a + threadIdx.x; }
__device__ int through(int a) { return mine(a); }
__device__ int twice(int a) { a *= 2; return a; }
"""


def _own_name(before: str, used: str, axes: str = "xyz") -> str | None:
    source = cuda(f"{before}\n  while (n) {{ out[0] = {used}; }}", before=_SUM)
    (loop,) = of_kind(source.body, "while_statement")
    body = next(of_kind(loop, "compound_statement"))
    return Uniformity(Names(source), body, axes=axes).own_name(body)


@pytest.mark.parametrize(
    ("before", "used"),
    [
        ("const int row = blockIdx.x * n;", "in[row] + gridDim.x"),
        ("__shared__ float scale;", "scale"),
        ("__shared__ float scales[4];", "scales[3]"),
        ("float s = in[threadIdx.x]; const float all = block_sum(s);", "all"),
        ("", "twice(n)"),
    ],
)
def test_the_same_in_all_threads(before: str, used: str):
    assert _own_name(before, used) is None


@pytest.mark.parametrize(
    ("before", "used", "name"),
    [
        ("const int lane = threadIdx.x % 32;\n const int twin = lane ^ 1;", "twin", "twin"),
        ("float s = 0.0f; s += in[0];", "s", "s"),  # what changes may differ
        ("__shared__ float scales[4];", "scales[n]", "scales"),
        ("float own[4];", "own[0]", "own"),
        ("", "through(n)", "through"),
        ("", "threadIdx.x", "threadIdx"),
    ],
)
def test_each_thread_its_own(before: str, used: str, name: str):
    assert _own_name(before, used) == name


def test_threads_of_one_row_have_its_number_in_common():
    row = "const int row = blockIdx.x * blockDim.y + threadIdx.y;"
    assert _own_name(row, "in[row]", axes="x") is None
    assert _own_name(row, "in[row]") == "row"


def test_loops_and_conditions_on_the_way():
    source = cuda("""
  if (threadIdx.x > 8) return;
  for (int row = blockIdx.x; row < n; row += gridDim.x) out[row] = 1.0f;
""")
    same = Uniformity(Names(source), source.body)
    write = next(of_kind(source.body, "assignment_expression"))
    assert text_of(write) == "row += gridDim.x"
    assert same.way_there(write) == "threadIdx"
    source = cuda("for (int row = blockIdx.x; row < n; row += gridDim.x) { out[row] = 1.0f; }")
    (inner,) = of_kind(source.body, "expression_statement")
    assert Uniformity(Names(source), inner).own_name(inner) is None
    assert Uniformity(Names(source), inner).way_there(inner) is None
