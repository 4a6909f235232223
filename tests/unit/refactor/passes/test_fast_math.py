"""`fast_math`: functions by macro, divisions by a macro that gives the same tokens back."""

import pytest
from pass_subjects import applied, bundled, declined, small

from warpsmith.refactor.passes.fast_math import FastMath

KERNEL = "__global__ void k(float* out, const float* x, int n) {{ const float a = x[0]; const double d = 2; out[0] = {0}; }}\n"


def made(expression: str) -> str:
    return applied(FastMath(), small(KERNEL.format(expression))).variant.text


def test_functions_are_sent_elsewhere():
    text = made("logf(a) + powf(a, 2.0f)")
    assert "#if FAST_MATH\n#define logf __logf\n#define powf __powf\n#endif\n" in text
    assert "logf(a) + powf(a, 2.0f)" in text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a / (1.0f + a)", "DIVIDE(a, (1.0f + a))"),
        ("1.0f / a * a", "DIVIDE(1.0f, a) * a"),
        ("a / 2.0f / a", "DIVIDE(a / 2.0f, a)"),
        ("fmaxf(a, n / 2) / sqrtf(a)", "DIVIDE(fmaxf(a, n / 2), sqrtf(a))"),
    ],
)
def test_divisions_of_floats(before, after):
    text = made(before)
    assert f"out[0] = {after};" in text
    assert "#define DIVIDE(a, b) __fdividef(a, b)\n#else\n#define DIVIDE(a, b) a / b\n#endif" in text


@pytest.mark.parametrize("expression", ["n / 4", "d / 2", "pick<int, 2>(n) / a", "(double)a / n", "f(n) / a", "x[0]"])
def test_what_is_not_surely_a_quotient_of_floats_is_left_alone(expression):
    assert "the kernel calls no function that has an approximation and has no float division" in declined(
        FastMath(), small(KERNEL.format(expression))
    )


def test_a_quotient_of_two_numbers_is_the_compilers():
    assert "the kernel calls no function that has an approximation and has no float division" in declined(
        FastMath(), small(KERNEL.format("a * (1.0f / 3.0f)"))
    )
    assert "out[0] = DIVIDE(a, (1.0f / 3.0f));" in made("a / (1.0f / 3.0f)")
    assert "out[0] = 2.0f / -3.0f + DIVIDE(a, n);" in made("2.0f / -3.0f + a / n")


def test_bundled_kernels():
    assert "DIVIDE(x, (1.0f + expf(-x)))" in applied(FastMath(), bundled("silu_and_mul")).variant.text
    assert "1.0f / block_reduce<Sum>(" in bundled("softmax").variant.text  # with a comma or not, what is in <> is left alone
    assert "the kernel calls no function that has an approximation and has no float division" in declined(
        FastMath(), bundled("softmax")
    )
    assert "no function" in declined(FastMath(), bundled("transpose"))
