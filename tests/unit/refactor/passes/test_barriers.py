"""`barriers`: which of them keep nothing apart, and that the others stay."""

import pytest
from pass_subjects import applied, bundled, declined, small, squeezed

from warpsmith.core.hardware import Language
from warpsmith.refactor.passes.barriers import Barriers

KERNEL = """
#define SHOW out[0] = 1.0f
__global__ void k(float* out, const float* x, int n) {{
  __shared__ float tile[256];
  {body}
}}
"""
WRITE, READ, WAIT, SPARE = (
    "tile[threadIdx.x] = x[threadIdx.x];",
    "out[threadIdx.x] = tile[0];",
    "__syncthreads();",
    "SPARE_BARRIER();",
)


def made(*statements):
    text = applied(Barriers(), small(KERNEL.format(body="\n  ".join(statements)))).variant.text
    return [line.strip() for line in text.partition("tile[256];\n")[2].splitlines()[:-1]]


def test_of_two_in_a_row_the_first_stays():
    assert made(WRITE, WAIT, WAIT, READ) == [WRITE, WAIT, SPARE, READ]


def test_what_is_the_thread_s_own_may_stand_between():
    own = "float v = x[threadIdx.x]; v = fmaxf(v, 0.0f);"
    assert made(WRITE, WAIT, own, WAIT, READ) == [WRITE, WAIT, own, SPARE, READ]


def test_the_kernel_s_start_and_end_are_barriers():
    assert made(WAIT, WRITE, WAIT, READ, WAIT) == [SPARE, WRITE, WAIT, READ, SPARE]
    assert made(WRITE, READ, WAIT, WAIT) == [WRITE, READ, SPARE, SPARE]


def test_at_the_default_the_macro_is_the_barrier():
    rewrite = applied(Barriers(), small(KERNEL.format(body=f"{WRITE} {WAIT} {READ} {WAIT}")))
    tunable = rewrite.variant.tunables[0]
    assert (tunable.name, tunable.default, tunable.values) == ("BARRIERS", 1, (1, 0))
    wanted = "#if BARRIERS #define SPARE_BARRIER() __syncthreads() #else #define SPARE_BARRIER() static_cast<void>(0) #endif"
    assert wanted in squeezed(rewrite.variant.text)


def test_opencl():
    wait = "barrier(CLK_LOCAL_MEM_FENCE);"
    text = f"__kernel void k(__global float* out, __global const float* x, int n) {{ out[get_local_id(0)] = x[0]; {wait} }}"
    made = applied(Barriers(), small(text, language=Language.OPENCL)).variant.text
    assert "#define SPARE_BARRIER() barrier(CLK_LOCAL_MEM_FENCE)\n" in made
    assert "x[0]; SPARE_BARRIER(); }" in made


@pytest.mark.parametrize(
    "between",
    [
        READ,
        "tile[0] += 1.0f;",
        "out[n] = 0.0f;",
        "float v = out[0];",
        "atomicAdd(out, 1.0f);",
        "other(n);",
        "float* p = tile; p[0] = 1.0f;",
        "SHOW;",
        "if (n) { __syncthreads(); }",
        "for (int i = 0; i < n; ++i) { tile[i] = 0.0f; }",
    ],
)
def test_what_others_may_see_keeps_a_barrier(between):
    assert "every barrier separates accesses that may conflict" in declined(
        Barriers(), small(KERNEL.format(body=f"{WRITE} {WAIT} {between} {WAIT} {READ}"))
    )


def test_a_loop_s_start_and_end_are_no_barriers():
    loop = f"for (int i = 0; i < n; ++i) {{ {WAIT} {WRITE} {WAIT} {READ} }}"
    assert "every barrier separates accesses that may conflict" in declined(Barriers(), small(KERNEL.format(body=loop)))


@pytest.mark.parametrize("name", ["transpose", "matmul", "conv2d", "matmul_opencl"])
def test_bundled_kernels_need_all_of_theirs(name):
    assert "every barrier separates accesses that may conflict" in declined(Barriers(), bundled(name))


def test_no_barrier():
    assert "no barrier" in declined(Barriers(), bundled("silu_and_mul"))
