from __future__ import annotations

import pytest
from pass_subjects import applied, bundled, declined, small, squeezed

from warpsmith.core.hardware import Language
from warpsmith.refactor.passes.swap_axes import SwapAxes

_GRID = {"grid": ("ceildiv(rows, 16)", "ceildiv(n, 8)"), "block": ("16", "8"), "scalars": {"rows": "rows", "n": "n"}}
_PLACE = "int r = blockIdx.x * blockDim.x + threadIdx.x;\n  int c = blockIdx.y * blockDim.y + threadIdx.y;\n  "


def _kernel(body: str) -> str:
    return f"__global__ void k(float* out, const float* x, int rows, int n) {{\n  {_PLACE}{body}\n}}\n"


def test_each_axis_takes_the_other_s_place():
    subject = small(_kernel("if (r < rows && c < n) out[r * n + c] = x[r * n + c];"), **_GRID)
    answer = applied(SwapAxes(), subject)
    assert answer.variant == subject.variant
    made = answer.alternatives[1]
    text = squeezed(made.text)
    assert "int r = blockIdx.y * blockDim.y + threadIdx.y; int c = blockIdx.x * blockDim.x + threadIdx.x;" in text
    assert "out[r * n + c] = x[r * n + c];" in text
    assert (made.grid, made.block) == (("ceildiv(n, 8)", "ceildiv(rows, 16)"), ("8", "16"))


def test_opencl():
    text = """__kernel void k(__global float* out, const __global float* x, const int rows, const int n) {
  const int r = get_global_id(0), c = get_global_id(1);
  if (r < rows && c < n) out[r * n + c] = x[get_group_id(0)] + get_local_size(1);
}
"""
    made = squeezed(applied(SwapAxes(), small(text, language=Language.OPENCL, **_GRID)).alternatives[1].text)
    assert "const int r = get_global_id(1), c = get_global_id(0);" in made
    assert "x[get_group_id(1)] + get_local_size(0);" in made


@pytest.mark.parametrize("sizes", ["16, 8, 1", "SIZES"])
def test_a_required_size_of_a_work_group_is_turned_too_where_it_can_be_read(sizes):
    text = f"""__kernel __attribute__((reqd_work_group_size({sizes})))
void k(__global float* out, const __global float* x, const int rows, const int n) {{
  const int r = get_global_id(0), c = get_global_id(1);
  if (r < rows && c < n) out[r * n + c] = x[r * n + c];
}}
"""
    subject = small(text, language=Language.OPENCL, **_GRID)
    if sizes == "SIZES":
        assert "reqd_work_group_size" in declined(SwapAxes(), subject)
    else:
        assert "reqd_work_group_size(8, 16, 1)" in applied(SwapAxes(), subject).alternatives[1].text


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("if (r < n && c < rows) out[c * n + r] = x[c * n + r];", "no access to global memory runs along threadIdx.y"),
        ("out[r * n + c] = __shfl_xor_sync(~0u, x[r * n + c], 1);", "warps follow x"),
        ("out[r * n + c] = x[place(threadIdx)];", "threadIdx is used as a whole"),
        ("volatile float v = x[0];\n  out[r * n + c] = v;", "threads of a warp may rely on each other"),
    ],
)
def test_declines(body: str, reason: str):
    assert reason in declined(SwapAxes(), small(_kernel(body), **_GRID))


def test_declines_more_blocks_than_fit_along_y():
    subject = small(_kernel("out[r * n + c] = x[0];"), **_GRID, sizes={"rows": 16 * 70_000, "n": 8})
    assert "at most 65535 are possible" in declined(SwapAxes(), subject)


@pytest.mark.parametrize("name", ["matmul", "conv2d", "convolution_opencl"])
def test_bundled_kernels_run_along_x_already(name: str):
    assert "no access" in declined(SwapAxes(), bundled(name))
