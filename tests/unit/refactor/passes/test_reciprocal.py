from __future__ import annotations

import pytest
from pass_subjects import applied, bundled, declined, small

from warpsmith.refactor.base import Subject
from warpsmith.refactor.passes.fast_math import FastMath
from warpsmith.refactor.passes.reciprocal import Reciprocal

_STRIDED = "for (int i = threadIdx.x; i < n; i += blockDim.x)"


def _kernel(body: str) -> str:
    return f"__global__ void k(float* out, const float* x, int n, float s) {{\n  {body}\n}}\n"


def _subject(body: str) -> Subject:
    return small(_kernel(body), scalars={"n": "n", "s": "2"})


def _text(body: str) -> str:
    return applied(Reciprocal(), _subject(body)).variant.text


def test_a_statement_is_written_both_ways_and_the_reciprocal_once():
    text = _text(f"{_STRIDED} {{\n    out[i] = x[i] / s;  // scaled\n  }}")
    assert "#if RECIPROCAL\n  const float inverse_s = 1.0f / s;\n#endif\n  for (int i" in text
    assert (
        "#if RECIPROCAL\n    out[i] = x[i] * inverse_s;  // scaled\n#else\n    out[i] = x[i] / s;  // scaled\n#endif\n  }" in text
    )


def test_the_parameter_is_off_by_default_and_says_what_it_does():
    (tunable,) = applied(Reciprocal(), _subject(f"{_STRIDED} out[i] = x[i] / s;")).variant.tunables
    assert (tunable.name, tunable.values, tunable.default, tunable.line) == ("RECIPROCAL", (0, 1), 0, 2)


def test_a_loop_without_braces_keeps_its_pragma():
    text = _text(f"#pragma unroll 4\n  {_STRIDED} out[i] = x[i] / (s + 1.0f);")
    assert "const float inverse = 1.0f / (s + 1.0f);\n#endif\n" in text
    assert "#pragma unroll 4\n#if RECIPROCAL\n  for (" in text
    assert "out[i] = x[i] * inverse;\n#else\n" in text


def test_divisions_inside_each_other_and_in_place():
    text = _text(f"{_STRIDED} {{\n    float y = x[i] / s / 3.0f;\n    if (y / s > 1.0f) {{ y /= s; }}\n    out[i] = y;\n  }}")
    assert "float y = x[i] * inverse_s * inverse;" in text
    assert "if (y * inverse_s > 1.0f) { y *= inverse_s; }" in text
    assert text.count("1.0f / s;") == 1


def test_it_moves_before_the_outermost_loop_that_leaves_it_alone():
    inner = "{ float t = s + r; for (int j = 0; j < 4; ++j) { out[r + j] = x[j] / s + x[j] / t; } }"
    text = _text(f"for (int r = 0; r < n; ++r) {inner}")
    assert text.index("inverse_s = 1.0f / s;") < text.index("for (int r")
    assert text.index("float t = s + r;") < text.index("inverse_t = 1.0f / t;") < text.index("for (int j")


def test_what_it_makes_can_be_read_by_the_pass_that_approximates_division():
    subject = _subject(f"{_STRIDED} {{\n    out[i] = x[i] / s;\n  }}")
    made = applied(Reciprocal(), subject).variant
    text = applied(FastMath(), Subject(subject.kernel, subject.limits, made)).variant.text
    assert "inverse_s = DIVIDE(1.0f, s);" in text


@pytest.mark.parametrize(
    "body",
    [
        "out[0] = x[0] / s;",  # no loop
        f"{_STRIDED} out[i] = x[i] / x[i + 1];",
        f"{_STRIDED} out[i] = x[i] / out[0];",  # memory, which may change
        f"{_STRIDED} out[i] = i / n;",
        f"{_STRIDED} {{ out[i] = x[i] / s; s += 1.0f; }}",
        f"double d = s; {_STRIDED} out[i] = x[i] / d;",
        f"double d = s; {_STRIDED} out[i] = (x[i] * d) / s;",  # a double is divided
        f"{_STRIDED} {{ const float t = x[i]; out[i] = x[i] / t; }}",
        "__shared__ float t; if (threadIdx.x == 0) t = s; for (int j = 0; j < 4; ++j) { __syncthreads(); out[j] = x[j] / t; }",
    ],
)
def test_divisions_that_are_left_alone(body: str):
    assert "no float division in a loop has a divisor that is provably loop-invariant" in declined(Reciprocal(), _subject(body))


def test_bundled_kernels_have_none():
    assert "no float division in a loop has a divisor that is provably loop-invariant" in declined(
        Reciprocal(), bundled("softmax")
    )
