from __future__ import annotations

import pytest
from pass_subjects import applied, bundled, declined, small, squeezed

from warpsmith.core.hardware import Language
from warpsmith.refactor.base import Subject
from warpsmith.refactor.passes.grid_share import GridShare
from warpsmith.refactor.passes.whole_steps import WholeSteps


def _kernel(body: str = "out[i] = 2.0f * x[i];", before: str = "", after: str = "") -> str:
    return f"""__global__ void k(float* out, const float* x, int n) {{
  {before}
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {{
    {body}
  }}
  {after}
}}
"""


def _contiguous(text: str, **options) -> str:
    answer = applied(GridShare(), small(text, grid=("128",), **options))
    assert answer.variant.text == text
    assert answer.choice is not None
    assert (answer.choice.values, answer.choice.default) == ((0, 1), 0)
    return squeezed(answer.alternatives[1].text)


def test_block_gets_whole_steps_in_a_row():
    text = _contiguous(_kernel())
    assert "const int share = ((n - 1) / static_cast<int>(blockDim.x * gridDim.x) + 1) * width;" in text
    assert "const int begin = static_cast<int>(blockIdx.x) * share; const int end = min(n, begin + share);" in text
    assert "for (int i = begin + static_cast<int>(threadIdx.x); i < end; i += width) {" in text


def test_opencl():
    text = """__kernel void k(__global float* out, const __global float* x, int n) {
  for (int i = get_group_id(0) * get_local_size(0) + get_local_id(0); i < n; i += get_local_size(0) * get_num_groups(0)) {
    out[i] = x[i];
  }
}
"""
    rewritten = _contiguous(text, language=Language.OPENCL)
    assert "for (int i = begin + (int)get_local_id(0); i < end; i += width) {" in rewritten


def test_sums_that_end_in_one_place():
    text = applied(GridShare(), bundled("reduction")).alternatives[1].text
    assert "i < end; i += width" in text
    assert "for (int i = n / 4 * 4 + thread; i < n; i += threads) sum += input[i];" in text
    assert "share" in _contiguous(_kernel("top = fmaxf(top, x[i]);", "float top = 0.0f;", "atomicAdd(out, top);"))


def test_whole_steps_of_a_share():
    subject = bundled("reduction")
    other = applied(GridShare(), subject).alternatives[1]
    text = applied(WholeSteps(), Subject(subject.kernel, subject.limits, other)).alternatives[1].text
    assert "const int whole = (end - begin) / (step * ITEMS) * (step * ITEMS);" in text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (_kernel("s += x[i];", "float s = 0.0f;", "out[blockIdx.x * blockDim.x + threadIdx.x] = s;"), "per-block s is stored"),
        (_kernel("s += x[i];", "float s = 0.0f;", "if (threadIdx.x == 0) out[blockIdx.x] = s;"), "per-block s is stored"),
        (_kernel("s = 0.5f * s + x[i];", "float s = 0.0f;", "atomicAdd(out, s);"), "s is carried"),
        (_kernel("s += x[i]; out[i] = s;", "float s = 0.0f;"), "s is carried"),
        (_kernel("s += x[i]; s = fmaxf(s, 0.0f);", "float s = 0.0f;", "atomicAdd(out, s);"), "s is carried"),
        (_kernel("out[i] = out[i + 1];"), "may read what another writes"),
        (_kernel("out[threadIdx.x] = x[i];"), "cannot prove that iterations over"),
        (_kernel("if (x[i] > 0.0f) return; out[i] = 1.0f;"), "can leave the loop"),
        (_kernel("__syncthreads(); out[i] = x[i];"), "contains a barrier"),
        (_kernel("out[i] = x[i]; n = n - 1;"), "may change while the loop runs"),
        (_kernel("out[i] = x[i] + blockIdx.x;"), "cannot prove that blockIdx is grid-uniform"),
        ("__global__ void k(float* out, const float* x, int n) { out[0] = x[0]; }", "the kernel has no grid-stride loop"),
    ],
)
def test_says_why_not(text: str, reason: str):
    assert reason in declined(GridShare(), small(text, grid=("128",)))
