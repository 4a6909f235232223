from __future__ import annotations

import pytest
from pass_subjects import CPU_LIMITS, LIMITS, applied, declined, small, squeezed

from warpsmith.core.hardware import Language, Limits
from warpsmith.refactor.base import Rewrite, Subject
from warpsmith.refactor.passes.thread_steps import ThreadSteps

_INDEX = "const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"


def _made(body: str, *, block: tuple[str, ...] = ("256",), before: str = "", limits: Limits = LIMITS) -> Rewrite:
    made = small(f"{before}__global__ void k(float* out, const float* x, int n) {{\n{body}\n}}\n", block=block)
    return applied(ThreadSteps(), Subject(made.kernel, limits, made.variant))


def test_threads_of_a_row_are_a_block_apart():
    found = _made(f"  const float w = 2.0f;\n  {_INDEX}  if (i >= n) return;\n  out[i] = w * x[i];")
    (made,) = set(found.alternatives.values())
    assert squeezed(made.text).endswith(
        "const float w = 2.0f; // A thread does what several did: along x a block's width apart, along other axes neighbours. "
        "for (unsigned int step_x = 0; step_x < EACH; ++step_x) { "
        "const unsigned int thread_x = threadIdx.x + step_x * blockDim.x; "
        "const int i = blockIdx.x * (blockDim.x * EACH) + thread_x; if (i >= n) continue; out[i] = w * x[i]; } }"
    )
    assert made.grid == ("rows",)
    assert made.block == ("256 / EACH",)
    assert [rule.expression for rule in made.rules] == ["(256) % EACH == 0"]


def test_threads_of_a_column_are_neighbours_and_loops_nest():
    body = "  const int c = threadIdx.x, r = threadIdx.y;\n  out[r * n + c] = x[r * n + c];"
    found = _made(body, block=("32", "8"))
    assert found.choice is not None
    assert (found.choice.name, found.choice.values) == ("EACH_Y", (1, 2, 4, 8))
    made = found.alternatives[2]
    assert [(t.name, t.values) for t in made.tunables] == [("EACH_X", (1, 2, 4, 8, 16))]
    assert "const unsigned int thread_y = threadIdx.y * EACH_Y + step_y;" in made.text
    assert made.block == ("32 / EACH_X", "8 / EACH_Y")


def test_a_cpu_may_have_blocks_of_one_thread_where_threads_go_through_rows():
    found = _made(f"  {_INDEX}  for (int j = 0; j < n; ++j) out[i * n + j] = x[i * n + j];", limits=CPU_LIMITS)
    assert found.choice is not None
    assert found.choice.values == (1, 2, 4, 8, 16, 64, 256)


def test_elsewhere_a_vector_of_threads_is_left():
    found = _made(f"  {_INDEX}  out[i] = x[i];", limits=CPU_LIMITS, block=("64",))
    assert found.choice is not None
    assert found.choice.values == (1, 2, 4, 8)
    assert "(64) >= 8 * EACH" in [rule.expression for rule in found.alternatives[2].rules]


def test_a_loop_that_returns_is_in_a_function_of_its_own():
    body = f"  {_INDEX}  for (int j = 0; j < n; ++j) {{ if (x[j] > 0.f) return; out[i] += x[j]; }}"
    text = squeezed(_made(body).alternatives[2].text)
    assert "[&] { const int i =" in text
    assert "if (x[j] > 0.f) return;" in text
    assert text.endswith("} }(); } }")


def test_parameters_that_change_are_copied():
    text = _made(f"  {_INDEX}  x += i;\n  out[i] = *x;").alternatives[2].text
    assert "const float * x_here = x;" in text.replace("float*", "float *")
    assert "out[i] = *x_here;" in text


def test_opencl_says_it_in_its_own_words():
    body = "out[get_global_id(0)] = get_local_size(0);"
    text = f"__kernel void k(__global float* out, __global const float* x, int n) {{\n  {body}\n}}\n"
    made = applied(ThreadSteps(), small(text, language=Language.OPENCL)).alternatives[2].text
    assert "out[(get_group_id(0) * (get_local_size(0) * EACH) + thread_x)] = (get_local_size(0) * EACH);" in made


@pytest.mark.parametrize(
    ("body", "before", "reason"),
    [
        ("__shared__ float s; s = 1.f; out[threadIdx.x] = s;", "", "uses shared memory"),
        ("out[threadIdx.x] = __shfl_sync(~0u, x[0], 1);", "", "exchanges values"),
        ("while (((volatile float*)x)[0] == 0.f) {} out[threadIdx.x] = 1.f;", "", "may wait"),
        ("out[me()] = 1.f;", "__device__ int me() { return threadIdx.x; }\n", "called function uses threadIdx.x"),
        ("out[sum(threadIdx)] = 1.f;", "__device__ int sum(uint3 t) { return t.x; }\n", "as a whole"),
    ],
)
def test_declines(body: str, before: str, reason: str):
    made = small(f"{before}__global__ void k(float* out, const float* x, int n) {{\n{body}\n}}\n")
    assert reason in declined(ThreadSteps(), made)


def test_functions_that_are_not_read_are_assumed_to_be_plain():
    found = _made(f"  {_INDEX}  out[i] = strange(x[i]);", before='#include "mine.h"\n')
    assert found.choice is not None
    assert found.choice.assumes == "strange, whose source is not available, does not distinguish threads"
    plain = _made(f"  {_INDEX}  out[i] = sqrtf(x[i]);", before='#include "mine.h"\n').choice
    assert plain is not None
    assert plain.assumes == ""
