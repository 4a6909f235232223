from __future__ import annotations

import pytest
from pass_subjects import applied, declined, small, squeezed

from warpsmith.refactor.base import Subject, Variant
from warpsmith.refactor.passes.step_lanes import StepLanes

_STEP = """float dot = 0.f;
    for (int d = 0; d < n; ++d) dot += x[d] * x[t * n + d];
"""


def _subject(step: str, *, before: str = "", start: str = "threadIdx.x", after: str = "") -> Subject:
    loop = f"for (int t = {start}; t < n; t += blockDim.x) {{\n    {step}\n  }}"
    return small(f"__global__ void k(float* out, const float* x, int n) {{\n  {before}\n  {loop}\n  {after}\n}}\n")


def _made(subject: Subject) -> Variant:
    answer = applied(StepLanes(), subject)
    assert answer.choice is not None
    assert "are independent" in answer.choice.assumes
    return answer.alternatives[32]


def test_a_warp_does_a_step_and_its_first_lane_stores():
    before = "__shared__ float s[4096];\n  float most = 0.f, sum = 1.f;"
    made = _made(_subject(f"{_STEP}    s[t] = dot;\n    most = fmaxf(most, dot);\n    sum += dot;", before=before))
    text = squeezed(made.text)
    assert "for (int t = static_cast<int>(threadIdx.x / 32); t < n; t += static_cast<int>(blockDim.x / 32)) {" in text
    assert "for (int d = static_cast<int>((threadIdx.x % 32)); d < n; d += 32) dot_of_lane += x[d] * x[t * n + d];" in text
    assert "dot += dot_of_lane;" in text
    for stored in ("s[t] = dot;", "most = fmaxf(most, dot);", "sum += dot;"):
        assert f"{{ if (threadIdx.x % 32 == 0) {stored} }}" in text
    assert made.block == ("256",)
    assert [rule.expression for rule in made.rules] == ["(256) % 32 == 0"]


def test_a_loop_that_begins_further_on():
    text = _made(_subject(f"{_STEP} out[t] = dot;", before="const int tid = threadIdx.x;", start="n / 2 + tid")).text
    assert "int t = (n / 2 + tid) - static_cast<int>(threadIdx.x) + static_cast<int>(threadIdx.x / 32);" in text


@pytest.mark.parametrize(
    ("step", "before", "reason"),
    [
        ("out[t] = x[t];", "", "no inner loop has iterations that access adjacent elements"),
        (
            "float dot = 0.f; for (int d = 0; d < n; ++d) dot += x[d * n + t]; out[t] = dot;",
            "",
            "no inner loop has iterations that access adjacent elements",
        ),
        (f"{_STEP} out[t + threadIdx.x] = dot;", "", "the loop body uses the thread index"),
        (f"{_STEP} out[t + mine] = dot;", "const int mine = threadIdx.x * 2;", "distinguishes threads"),
        (f"{_STEP} if (dot > last) out[t] = dot; last = dot;", "float last = 0.f;", "is carried between iterations"),
        (f"{_STEP} __syncthreads(); out[t] = dot;", "", "the loop body contains a barrier"),
    ],
)
def test_declines(step: str, before: str, reason: str):
    assert reason in declined(StepLanes(), _subject(step, before=before))


def test_not_where_only_some_threads_come():
    loop = f"for (int t = threadIdx.x; t < n; t += blockDim.x) {{ {_STEP} out[t] = dot; }}"
    text = f"__global__ void k(float* out, const float* x, int n) {{\n  if (threadIdx.x < 64)\n  {loop}\n}}\n"
    assert "cannot prove that all threads reach the loop" in declined(StepLanes(), small(text))
