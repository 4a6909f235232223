from __future__ import annotations

import pytest
from pass_subjects import applied, declined, small, squeezed

from warpsmith.refactor.base import Subject, Variant
from warpsmith.refactor.passes.row_lanes import RowLanes

_HEAD = """__global__ void k(float* out, const float* x, int n, int rows) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
"""


def _subject(body: str, *, head: str = _HEAD, block: str = "256") -> Subject:
    grid = (f"ceildiv(rows, {block})",)
    return small(f"{head}{body}}}\n", grid=grid, block=(block,), scalars={"n": "n", "rows": "rows"})


def _shared(body: str) -> Variant:
    found = applied(RowLanes(), _subject(body))
    assert found.variant == _subject(body).variant
    assert found.choice is not None
    assert "are independent" in found.choice.assumes
    return found.alternatives[32]


def test_a_row_of_lanes_has_the_place_of_a_thread():
    made = _shared("  for (int j = 0; j < n; ++j) out[r * n + j] = 2 * x[r * n + j];\n")
    assert "int r = blockIdx.x * blockDim.y + threadIdx.y;" in made.text
    assert "for (int j = static_cast<int>(threadIdx.x); j < n; j += 32) out[r * n + j] = 2 * x[r * n + j];" in made.text
    assert (made.grid, made.block) == (("(ceildiv(rows, 256)) * 32",), ("32", "(256) / 32"))


@pytest.mark.parametrize(
    ("step", "together"),
    [
        ("s += x[r * n + j]", "s_of_lane += __shfl_xor_sync(0xffffffffu, s_of_lane, distance); } s += s_of_lane;"),
        ("s *= x[r * n + j]", "s_of_lane *= __shfl_xor_sync(0xffffffffu, s_of_lane, distance); } s *= s_of_lane;"),
        ("s = fmaxf(s, x[r * n + j])", "s = fmaxf(s, __shfl_xor_sync(0xffffffffu, s, distance)); }"),
        ("if (x[r * n + j] > s) s = x[r * n + j]", "if (other > s) s = other; }"),
        ("if (s > x[r * n + j]) { s = x[r * n + j]; }", "if (other < s) s = other; }"),
    ],
)
def test_what_steps_collect_is_put_together(step: str, together: str):
    made = _shared(f"  float s = 1.0f;\n  for (int j = 0; j < n; j++) {step};\n  out[r] = s;\n")
    assert together in squeezed(made.text)
    assert "{ if (threadIdx.x == 0) out[r] = s; }" in made.text


@pytest.mark.parametrize(
    "step",
    [
        "s += x[r * n + j]; out[r * n + j] = s",  # a running sum
        "s = x[r * n + j]",
        "s += x[r * n + j]; if (s > 10.0f) break",
        "if (x[r * n + j] > s) { s = x[r * n + j]; last = j; }",
        "s += x[j * rows + r]",  # neighbouring threads read neighbours already
    ],
)
def test_loops_whose_steps_one_thread_must_do_stay(step: str):
    body = f"  float s = 0; int last = 0;\n  for (int j = 0; j < n; j++) {{ {step}; }}\n  out[r] = s + last;\n"
    assert "iterations that access adjacent elements" in declined(RowLanes(), _subject(body))


def test_of_nested_loops_the_one_along_memory_is_shared():
    made = _shared(
        "  for (int c = 0; c < n; ++c) {\n    float s = 0;\n    for (int j = 0; j < n; ++j) s += x[r * n + j] * x[c * n + j];\n"
        "    out[c * rows + r] = s;\n  }\n"
    )
    assert "for (int c = 0; c < n; ++c) {" in made.text
    assert "for (int j = static_cast<int>(threadIdx.x); j < n; j += 32)" in made.text
    turned = _shared(
        "  for (int c = 0; c < n; ++c) {\n    float s = 0;\n    for (int j = 0; j < n; ++j) s += x[r * n + j] * x[j * n + c];\n"
        "    out[r * n + c] = s;\n  }\n"
    )
    assert "for (int c = static_cast<int>(threadIdx.x); c < n; c += 32) {" in turned.text
    assert "threadIdx.x == 0" not in turned.text


def test_atomic_updates_outside_are_made_once():
    made = _shared(
        "  float s = 0;\n  for (int j = 0; j < n; j++) s += x[r * n + j];\n  if (s > 0) atomicAdd(out, s); else out[1] = s;\n"
    )
    assert "if (s > 0) { if (threadIdx.x == 0) atomicAdd(out, s); } else { if (threadIdx.x == 0) out[1] = s; }" in made.text
    used = "  float s = 0;\n  for (int j = 0; j < n; j++) s += x[r * n + j];\n  float old = atomicAdd(out, s);\n  out[r] = old;\n"
    assert "a value is stored where it is used" in declined(RowLanes(), _subject(used))


def test_threads_that_share_work_already_and_half_warps_are_left_alone():
    body = "  for (int j = 0; j < n; ++j) out[r * n + j] = x[r * n + j];\n"
    assert "has barriers" in declined(RowLanes(), _subject("  __syncthreads();\n" + body))
    assert "are not whole warps" in declined(RowLanes(), _subject(body, block="48"))
