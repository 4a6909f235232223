from __future__ import annotations

import pytest
from pass_subjects import applied, bundled, declined, small, squeezed

from warpsmith.core.hardware import Language
from warpsmith.refactor.base import Subject
from warpsmith.refactor.passes.blocked_strided import BlockedStrided
from warpsmith.refactor.passes.lift_constants import LiftConstants


def _kernel(first: str = "", loop: str = "", last: str = "", before: str = "") -> str:
    """Loads K columns of its own from a row, works on them, and stores them."""
    return f"""#define K 4
__global__ void k(float* out, const float* x, int n) {{
  {before}
  float own[K];
  float total = 0.0f;
  for (int j = 0; j < K; ++j) {{ {first or "own[j] = x[threadIdx.x * K + j];"} }}
  for (int q = 0; q < K; ++q) {{ {loop or "own[q] = 2.0f * own[q];"} }}
  for (int j = 0; j < K; ++j) {{
    {last or "const int col = blockIdx.x * n + threadIdx.x * K + j; if (col < n) out[col] = own[j];"}
  }}
}}
"""


def _spread(text: str, **options) -> str:
    answer = applied(BlockedStrided(), small(text, **options))
    assert answer.variant.text == text
    assert answer.choice is not None
    assert (answer.choice.values, answer.choice.default) == ((0, 1), 0)
    return squeezed(answer.alternatives[1].text)


def test_thread_and_index_change_places_everywhere():
    text = _spread(_kernel())
    assert "own[j] = x[j * 256 + threadIdx.x];" in text
    assert "const int col = blockIdx.x * n + j * 256 + threadIdx.x;" in text
    assert "own[q] = 2.0f * own[q];" in text


def test_width_is_the_constant_that_divides_by_the_columns():
    text = applied(BlockedStrided(), bundled("matmul")).alternatives[1].text
    assert "from_b[j] = b_tile[depth][j * kThreadsX + threadIdx.x];" in text
    assert "const int col = first_col + j * kThreadsX + threadIdx.x;" in text
    assert "threadIdx.y * kThreadM + i" in text


def test_one_column_a_thread_leaves_nothing_to_spread():
    subject = bundled("matmul")
    lifted = Subject(subject.kernel, subject.limits, applied(LiftConstants(), subject).variant)
    answer = applied(BlockedStrided(), lifted)
    assert [r.expression for r in answer.alternatives[1].rules if r not in answer.variant.rules] == ["THREAD_N > 1"]


def test_width_is_asked_for_when_the_launch_depends_on_the_workload():
    text = _spread(_kernel(), block=("n / 4",))
    assert "x[j * blockDim.x + threadIdx.x]" in text


def test_first_column_may_have_a_name():
    names = "const int tx = threadIdx.x; const int left = tx * K;"
    text = _spread(_kernel("own[j] = x[left + j];", last="out[tx * K + j] = own[j];", before=names))
    assert "own[j] = x[j * 256 + threadIdx.x];" in text
    assert "out[j * 256 + tx] = own[j];" in text


def test_opencl():
    text = """#define K 2
__kernel void k(__global float* out, const __global float* x, int n) {
  for (int j = 0; j < K; ++j) out[get_local_id(0) * K + j] = x[get_local_id(0) * K + j];
}
"""
    rewritten = _spread(text, language=Language.OPENCL)
    assert "out[j * 256 + get_local_id(0)] = x[j * 256 + get_local_id(0)];" in rewritten


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (_kernel(loop="total += own[q];"), "changes a value that other columns share"),
        (_kernel(loop="own[q] = own[0];"), "other than column by column"),
        (_kernel(loop="own[q] = q;"), "q is used for more than a column"),
        (_kernel(loop="own[q] += threadIdx.x;"), "depends on threadIdx.x other than by the column index"),
        (_kernel(loop="own[q] += half;", before="const float half = threadIdx.x * 0.5f;"), "other than by the column index"),
        (_kernel(before="if (threadIdx.x * K >= n) return;"), "threads return early depending on threadIdx.x"),
        (_kernel(last="if (threadIdx.x > 2) out[threadIdx.x * K + j] = own[j];"), "other than by the column index"),
        (_kernel(last="out[j] = own[j]; x[threadIdx.x * K + j];"), "used for more than a column"),
        (_kernel("own[j] = x[j * 256 + threadIdx.x];", last="out[j * 256 + threadIdx.x] = own[j];"), "no access has the index"),
        (_kernel(loop="own[q] = mystery(own[q]);"), "not analysed"),
    ],
)
def test_says_why_not(text: str, reason: str):
    assert reason in declined(BlockedStrided(), small(text))


def test_a_row_of_threads_taken_whole_is_not_for_a_loop_that_counts_otherwise():
    text = _kernel(loop="own[q] += 1.0f;").replace("q < K", "q < 3")
    assert "an array of the thread's columns is also indexed by" in declined(BlockedStrided(), small(text))
