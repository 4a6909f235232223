from __future__ import annotations

import pytest
from pass_subjects import applied, bundled, declined, small, squeezed

from warpsmith.core.hardware import Language
from warpsmith.refactor.base import Subject, Variant
from warpsmith.refactor.passes.persistent import Persistent

_INDEX = "const int i = blockIdx.x * blockDim.x + threadIdx.x;\n  "
_FLAT = {"grid": ("ceildiv(n, 256)",), "sizes": {"rows": 64, "n": 100_000}}
_COUNTED = {"scalars": {"n": "n", "count": "rows"}}


def _kernel(body: str) -> str:
    return f"__global__ void k(float* out, const float* x, int n, int count) {{\n  {body}\n}}\n"


def _made(subject: Subject) -> Variant:
    answer = applied(Persistent(), subject)
    assert answer.variant == subject.variant  # the default is the original itself
    assert answer.choice is not None
    assert (answer.choice.name, answer.choice.default) == ("BLOCKS_PER_UNIT", 0)
    (made,) = set(answer.alternatives.values())
    return made


def test_flat_kernel_strides_over_the_grid():
    made = _made(small(_kernel(_INDEX + "if (i >= n) return;\n  out[i] = x[i];"), **_FLAT))
    loop = "for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) { out[i] = x[i]; }"
    assert loop in squeezed(made.text)
    assert made.grid == ("min(ceildiv(n, 256), compute_units * BLOCKS_PER_UNIT)",)


def test_rows_are_counted_by_an_argument():
    body = "__shared__ float s[256];\n  s[threadIdx.x] = x[blockIdx.x];\n  __syncthreads();\n  out[blockIdx.x] = s[0];"
    made = _made(small(_kernel(body), **_COUNTED))
    text = squeezed(made.text)
    assert "for (unsigned int at = blockIdx.x; at < count; at += gridDim.x) { const unsigned int block = at; s" in text
    assert "out[block] = s[0]; __syncthreads(); // before shared memory is written again }" in text
    assert made.grid == ("min(rows, compute_units * BLOCKS_PER_UNIT)",)


def test_opencl():
    text = """__kernel void k(__global float* out, const __global float* x, const int n) {
  const uint i = get_global_id(0);
  if (i < n) out[i] = x[i];
}
"""
    made = squeezed(_made(small(text, language=Language.OPENCL, **_FLAT)).text)
    first, step = "get_group_id(0) * get_local_size(0) + get_local_id(0)", "get_num_groups(0) * get_local_size(0)"
    assert f"for (uint i = {first}; i < n; i += {step}) {{ out[i] = x[i]; }}" in made


def test_values_leave_blocks_out():
    answer = applied(Persistent(), small(_kernel(_INDEX + "if (i < n) out[i] = x[i];"), grid=("ceildiv(n, 256)",)))
    assert answer.choice is not None
    assert answer.choice.values == (0, 1, 2, 4)  # 16 blocks for 2 compute units
    assert "blocks: no more than are resident at a time" in declined(
        Persistent(), small(_kernel("out[blockIdx.x] = 1.0f;"), grid=("2",))
    )


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("out[blockIdx.x] = x[blockIdx.x];", "no argument is the number of rows"),
        (_INDEX + "if (i < count) out[i] = x[i];", "cannot prove that the launch covers the guard's range"),
        (_INDEX + "out[i] = x[i];", "has no guard"),
        (_INDEX + "if (i >= n) return;\n  x += i;\n  out[i] = *x;", "x is changed, but the next element needs"),
        ("out[blockIdx.x] = x[blockIdx.y];", "several dimensions"),
        ("out[blockIdx.x] = gridDim.x;", "is used: the kernel depends on the grid's shape"),
    ],
)
def test_declines(body: str, reason: str):
    assert reason in declined(Persistent(), small(_kernel(body), **_FLAT, scalars={"n": "n", "count": "n * 2"}))


def test_declines_rows_that_only_the_grid_knows():
    assert "no argument is the number of rows" in declined(Persistent(), bundled("softmax"))
