from __future__ import annotations

import pytest
from pass_subjects import applied, declined, small, squeezed

from warpsmith.refactor.passes.strip_mine import StripMine


def _made(loop: str, parameters: str = "int n") -> str:
    body = f"  float s = 0.f;\n  {loop}\n  out[threadIdx.x] = s;"
    found = applied(StripMine(), small(f"__global__ void k(float* out, const float* x, {parameters}) {{\n{body}\n}}\n"))
    return squeezed(found.alternatives[1].text)


def test_what_a_quotient_says_is_named_once_a_strip():
    text = _made("for (int i = 0; i < n; ++i) {\n    s += x[i * 8 / 128] * x[n + i * 8 / 128 + i];\n  }")
    assert (
        "for (int first_i = 0; first_i < n; first_i += 16) { "
        "const int last_i = n - first_i < 16 ? n : first_i + 16; "
        "const auto quotient_of_i = first_i * 8 / 128; "
        "for (int i = first_i; i < last_i; ++i) { s += x[quotient_of_i] * x[n + quotient_of_i + i]; } }"
    ) in text


def test_strips_as_long_as_an_argument_says():
    text = _made("for (int i = 0; i < n; ++i) s += x[i / group];", "int n, int group")
    assert "for (int first_i = 0; first_i < n; first_i += group) {" in text
    assert "const auto quotient_of_i = first_i / group;" in text


def test_steps_and_inclusive_bounds():
    text = _made("for (int i = 32; i <= n; i += 4) s += x[i / 16];")
    assert "for (int first_i = 32; first_i <= n; first_i += 16) {" in text
    assert "const int last_i = n - first_i < 16 ? n : first_i + 16 - 1;" in text
    assert "for (int i = first_i; i <= last_i; i += 4) s += x[quotient_of_i];" in text


@pytest.mark.parametrize(
    "loop",
    [
        "for (int i = 0; i < n; ++i) s += x[i];",  # no quotient
        "for (int i = 3; i < n; ++i) s += x[i / 8];",  # begins inside a strip
        "for (int i = 0; i < n; i += 3) s += x[i / 8];",  # a step that no strip is made of
        "for (int i = 0; i < n; ++i) s += x[i * 3 / 8];",  # changes after two or three steps
        "for (int i = 0; i < n; ++i) s += x[(i + n) / 8];",
        "for (int i = 0; i < n; ++i) { if (x[i] > 0.f) break; s += x[i / 8]; }",
        "for (int i = 0; i < n; ++i) { s += x[i / 8]; n -= 1; }",  # the end moves
        "for (int i = 0; i < n; ++i) { int g = i + 1; s += x[i / g]; }",  # so does the strips' length
        "for (int i = 0; i < 8; ++i) s += x[i / 8];",  # one strip
        "for (int i = threadIdx.x; i < n; i += blockDim.x) s += x[i / 8];",
    ],
)
def test_declines(loop: str):
    body = f"  float s = 0.f;\n  {loop}\n  out[threadIdx.x] = s;"
    made = small(f"__global__ void k(float* out, const float* x, int n) {{\n{body}\n}}\n")
    assert "no loop has a quotient" in declined(StripMine(), made)
