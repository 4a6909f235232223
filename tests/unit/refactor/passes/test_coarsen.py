from __future__ import annotations

import pytest
from pass_subjects import applied, declined, small, squeezed

from warpsmith.core.hardware import Language
from warpsmith.refactor.base import Rewrite
from warpsmith.refactor.passes.coarsen import Coarsen

_FLAT = {"grid": ("ceildiv(rows * n, 256)",), "scalars": {"rows": "rows", "n": "n"}}
_INDEX = "const int i = blockIdx.x * blockDim.x + threadIdx.x;\n  "


def _kernel(body: str) -> str:
    return f"__global__ void k(float* out, const float* x, int rows, int n) {{\n  {body}\n}}\n"


def _answer(body: str, **options) -> Rewrite:
    subject = small(_kernel(body), **{**_FLAT, **options})
    answer = applied(Coarsen(), subject)
    assert answer.variant == subject.variant  # the default is the original itself
    return answer


def _text(answer: Rewrite) -> str:
    (made,) = set(answer.alternatives.values())
    return squeezed(made.text)


def test_guard_becomes_the_end_of_a_loop():
    answer = _answer(_INDEX + "if (i < rows * n) {\n    // twice\n    out[i] = 2.0f * x[i];\n  }")
    text = _text(answer)
    assert "const int share = static_cast<int>(blockDim.x) * PER_THREAD; const int first = blockIdx.x * share;" in text
    assert "const int last = first + share < (rows * n) ? first + share : (rows * n);" in text
    assert "for (int i = first + static_cast<int>(threadIdx.x); i < last; i += static_cast<int>(blockDim.x)) { // twice" in text
    assert "if (" not in text
    assert answer.choice is not None
    assert (answer.choice.name, answer.choice.values, answer.choice.default) == ("PER_THREAD", (1, 2, 4, 8, 16), 1)
    assert answer.alternatives[2].grid == ("ceildiv(ceildiv(rows * n, 256), PER_THREAD)",)
    assert answer.alternatives[2].rules == ()


def test_what_comes_before_the_index_is_needed_stays_before_the_loop():
    text = _text(_answer(_INDEX + "const float scale = x[0];\n  if (i >= n) return;\n  out[i] = scale * x[i];"))
    assert text.index("scale = x[0]") < text.index("for (int i")
    assert "out[i] = scale * x[i]; } }" in text


def test_returns_go_on_with_the_next_element():
    text = _text(_answer(_INDEX + "const float v = x[i];\n  if (i >= n) return;\n  if (v < 0.0f) return;\n  out[i] = v;"))
    assert "const float v = x[i]; if (v < 0.0f) continue; out[i] = v; }" in text


def test_a_launch_that_leaves_elements_out_is_joined_exactly():
    answer = _answer(_INDEX + "if (i < n) out[i] = x[i];", grid=("8",))
    assert [rule.expression for rule in answer.alternatives[2].rules] == ["(8) % PER_THREAD == 0"]
    assert answer.choice is not None
    assert answer.choice.values == (1, 2, 4)


def test_opencl():
    text = """__kernel void k(__global float* out, const __global float* x, const int rows, const int n) {
  size_t gid = get_global_id(0);
  if (gid >= n) return;
  out[gid] = x[gid];
}
"""
    made = _text(applied(Coarsen(), small(text, language=Language.OPENCL, **_FLAT)))
    assert "const size_t share = get_local_size(0) * PER_THREAD; const size_t first = get_group_id(0) * share;" in made
    assert "for (size_t gid = first + get_local_id(0); gid < last; gid += get_local_size(0)) { out[gid] = x[gid]; }" in made


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("out[blockIdx.x] = x[blockIdx.x];", "no index"),
        (_INDEX + "out[i] = x[i];", "i has no guard"),
        (_INDEX + "if (i < n) out[i] = x[blockIdx.x];", "blockIdx.x is used in addition to the index i"),
        (_INDEX + "if (i < n) out[i] = x[i] + gridDim.x;", "gridDim.x is used in addition to the index i"),
        (_INDEX + "if (i < n) out[i] = x[i];\n  __syncthreads();", "has barriers"),
        (
            _INDEX + "atomicAdd(out, 1.0f);\n  if (i < n) out[i] = x[i];",
            "a statement before the guard cannot be shared by several elements",
        ),
        (_INDEX + "if (i >= n) return;\n  while (true) { if (x[i] > 0.0f) return; }", "an inner loop returns"),
    ],
)
def test_declines(body: str, reason: str):
    assert reason in declined(Coarsen(), small(_kernel(body), **_FLAT))


def test_declines_when_there_are_few_blocks():
    body = _INDEX + "if (i < n) out[i] = x[i];"
    assert "leave compute units idle" in declined(Coarsen(), small(_kernel(body), **{**_FLAT, "grid": ("3",)}))
