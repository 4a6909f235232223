from __future__ import annotations

import pytest
from pass_subjects import applied, bundled, declined, small, squeezed

from warpsmith.core.hardware import Language
from warpsmith.refactor.base import Subject, Variant
from warpsmith.refactor.passes.rows_per_block import RowsPerBlock


def _kernel(body: str, parameters: str = "int n") -> str:
    return f"__global__ void k(float* out, const float* x, {parameters}) {{\n  {body}\n}}\n"


def _made(subject: Subject) -> Variant:
    answer = applied(RowsPerBlock(), subject)
    assert answer.variant == subject.variant  # the default is the original itself
    (made,) = set(answer.alternatives.values())
    return made


_COPY = "const int row = blockIdx.x;\n  for (int i = threadIdx.x; i < n; i += blockDim.x) out[row * n + i] = x[row * n + i];"


def test_rows_that_only_the_grid_knows():
    made = _made(small(_kernel(_COPY)))
    text = squeezed(made.text)
    assert "if (blockIdx.y > 0) return;" in text
    assert "blockIdx.x + 1 < gridDim.x ? ROWS_PER_BLOCK : ROWS_PER_BLOCK + 1 - static_cast<int>(gridDim.y);" in text
    assert "for (int step = 0; step < rows_here; ++step) { const unsigned int block = blockIdx.x * ROWS_PER_BLOCK + step;" in text
    assert "const int row = block;" in text
    assert "__syncthreads" not in text
    assert made.grid == ("ceildiv(rows, ROWS_PER_BLOCK)", "1 + ceildiv(rows, ROWS_PER_BLOCK) * ROWS_PER_BLOCK - (rows)")


def test_rows_that_an_argument_counts():
    subject = small(_kernel(_COPY, "int n, int count"), scalars={"n": "n", "count": "rows"})
    made = _made(subject)
    rest = "static_cast<int>(count) - static_cast<int>(blockIdx.x * ROWS_PER_BLOCK)"
    assert f"const int rows_here = min(ROWS_PER_BLOCK, {rest});" in made.text
    assert made.grid == ("ceildiv(rows, ROWS_PER_BLOCK)",)


def test_barrier_between_rows_where_memory_is_shared():
    text = squeezed(_made(bundled("softmax")).text)
    assert "to[i] = y; } __syncthreads(); // before shared memory is written again } }" in text
    assert "using Packed = Pack<T, kLanes>; // A block does what" in text  # what all rows have in common stays before the loop


def test_barrier_comes_first_where_a_row_can_be_left_early():
    body = "__shared__ float s[256];\n  if (blockIdx.x % 2 == n) return;\n  s[threadIdx.x] = x[blockIdx.x];\n  __syncthreads();"
    text = squeezed(_made(small(_kernel(body + "\n  out[blockIdx.x * 256 + threadIdx.x] = s[255 - threadIdx.x];"))).text)
    assert "{ __syncthreads(); // shared memory is free again const unsigned int block" in text
    assert "if (block % 2 == n) continue;" in text
    assert text.endswith("out[block * 256 + threadIdx.x] = s[255 - threadIdx.x]; } }")


def test_a_warp_that_asks_for_its_lane_waits_for_no_other():
    lane = 'int lane;\n  asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));'
    body = f"{lane}\n  const int row = blockIdx.x * blockDim.y + threadIdx.y;"
    store = 'asm volatile("st.global.cs.f32 [%0], %1;" ::"l"(out + row * n + lane), "f"(x[row * n + lane]));'
    text = squeezed(_made(small(_kernel(f"{body}\n  if (row >= n) return;\n  {store}"), block=("32", "8"))).text)
    assert "if (row >= n) continue;" in text
    assert "__syncthreads" not in text


def test_changed_parameters_are_copied():
    text = squeezed(_made(small(_kernel("x += blockIdx.x * n;\n  out[blockIdx.x] = x[threadIdx.x];"))).text)
    assert "const float* x_here = x; x_here += block * n; out[block] = x_here[threadIdx.x];" in text


def test_values_begin_anew_for_each_row():
    text = squeezed(_made(small(_kernel("float sum = 0.0f;\n  sum += x[blockIdx.x];\n  out[blockIdx.x] = sum;"))).text)
    assert text.index("for (int step") < text.index("float sum = 0.0f;")


def test_opencl():
    text = """__kernel void k(__global float* out, const __global float* x, const int n) {
  const int row = get_group_id(0);
  __local float s[256];
  s[get_local_id(0)] = x[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  out[get_global_id(0)] = s[255 - get_local_id(0)];
}
"""
    made = squeezed(_made(small(text, language=Language.OPENCL)).text)
    # Local memory is declared at the outermost level.
    assert made.index("__local float s[256];") < made.index("for (int step")
    assert "const size_t block = get_group_id(0) * ROWS_PER_BLOCK + step; const int row = block;" in made
    assert "s[get_local_id(0)] = x[(block * get_local_size(0) + get_local_id(0))];" in made
    assert "barrier(CLK_LOCAL_MEM_FENCE); // before shared memory is written again } }" in made


def test_a_copy_of_an_opencl_pointer_is_in_the_same_memory():
    text = """kernel void k(global float* out, global const float* x, const int n) {
  x += get_group_id(0) * n;
  out[get_group_id(0)] = x[get_local_id(0)];
}
"""
    made = squeezed(_made(small(text, language=Language.OPENCL)).text)
    assert "global const float * x_here = x;" in made.replace("float*", "float *")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("out[threadIdx.x] = x[threadIdx.x];", "blockIdx.x is not used"),
        ("out[blockIdx.x] = gridDim.x;", "is used: the kernel depends on the grid's shape"),
        ("out[blockIdx.x] = x[blockIdx.y];", "several dimensions"),
        ("const int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) out[i] = x[i];", "counts elements, not rows"),
        ("out[blockIdx.x] = 1.0f;\n  __threadfence();", "blocks may wait"),
        ("for (int s = 0; s < 4; ++s) out[blockIdx.x * 4 + s] = x[s];", "already does several rows"),
        (
            "const int b = blockIdx.x;\n  if (threadIdx.x > n) return;\n  __syncthreads();\n  out[b] = 1.0f;",
            "some threads of a block may",
        ),
        (
            "const int b = blockIdx.x;\n  int t = atomicAdd((int*)out, 1);\n  if (t > n) return;\n  __syncthreads();",
            "may return before",
        ),
        ("for (int i = 0; i < n; ++i) { if (x[i] > 0.0f) return; out[blockIdx.x] = i; }", "an inner loop returns"),
        ("out[blockIdx.x] = cg::this_grid().size();", "ways that are not analysed"),
    ],
)
def test_declines(body: str, reason: str):
    assert reason in declined(RowsPerBlock(), small(_kernel(body)))


def test_declines_when_a_function_knows_the_block():
    text = "__device__ int row() { return blockIdx.x; }\n" + _kernel("out[row()] = x[blockIdx.x];")
    assert "a called function uses" in declined(RowsPerBlock(), small(text))


def test_declines_when_there_are_few_rows():
    assert "leave compute units idle" in declined(RowsPerBlock(), small(_kernel(_COPY), sizes={"rows": 3, "n": 4000}))


def test_what_is_not_looked_into_is_assumed_to_know_no_block():
    text = '#include "mine.h"\n' + _kernel("out[blockIdx.x] = strange(x[blockIdx.x]);")
    answer = applied(RowsPerBlock(), small(text))
    assert answer.choice is not None
    assert answer.choice.assumes.startswith("strange does not depend on which block executes it")
