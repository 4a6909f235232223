from __future__ import annotations

import pytest
from source_support import cuda, initialiser

from warpsmith.source import Names
from warpsmith.source.floats import is_float

_SIGNATURE = "float* out, const float* in, const double* wide, const T* any, int n, float s, double d"


def _is_float(expression: str, entry: str = "k<float>") -> bool:
    source = cuda(f"  float a[4]; float* p = out; auto v = {expression};", signature=_SIGNATURE, entry=entry)
    return is_float(initialiser(source, "v"), Names(source))


@pytest.mark.parametrize(
    "expression",
    ["1.0f", "s", "in[n]", "a[1]", "p[2]", "-s", "(s + 1)", "n * s", "expf(d)", "static_cast<float>(d)", "(float)d", "any[0]"],
)
def test_floats(expression: str):
    assert _is_float(expression)


@pytest.mark.parametrize(
    "expression", ["1.0", "0xf", "n", "d", "wide[n]", "s * d", "in[n] * 2.0", "exp(s)", "in", "n / 2", "f(s)"]
)
def test_not_surely_floats(expression: str):
    assert not _is_float(expression)


def test_a_template_argument_decides():
    assert not _is_float("any[0]", entry="k<double>")


def test_a_name_for_float_is_float():
    source = cuda(
        "  auto v = in[0] / s;", signature="const real* in, NUMBER s", before="typedef float real;\n#define NUMBER real"
    )
    assert is_float(initialiser(source, "v"), Names(source))
