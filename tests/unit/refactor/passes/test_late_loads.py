"""`late_loads`: which arrays of a thread are only loaded values, and how a use loads its own."""

import pytest
from pass_subjects import applied, bundled, declined, small, squeezed

from warpsmith.refactor.passes.late_loads import LateLoads

KERNEL = """
__global__ void k(float* out, const float* x, int n) {{
  for (int row = 0; row < n; ++row) {{
    float held[4];
    for (int i = 0; i < 4; ++i) {fill}
    {use}
  }}
}}
"""
FILL = "held[i] = x[row * n + i];"


def text_of(fill: str, use: str) -> str:
    return KERNEL.format(fill=fill, use=use)


@pytest.mark.parametrize(
    ("fill", "loaded"),
    [
        (FILL, "x[row * n + (row % 4)]"),
        ("{ const float* from = x + row * n; held[i] = __ldg(from + i); }", "__ldg((x + row * n) + (row % 4))"),
        ("{ const int at = row * n + i; held[i] = *(x + at); }", "*(x + (row * n + (row % 4)))"),
    ],
)
def test_a_use_loads_its_own(fill, loaded):
    made = applied(LateLoads(), small(text_of(fill, "out[row] = held[row % 4];"))).alternatives[1].text
    assert squeezed(f"for (int row = 0; row < n; ++row) {{ out[row] = {loaded}; }}") in squeezed(made)


def test_two_dimensions():
    made = squeezed(applied(LateLoads(), bundled("conv2d")).alternatives[1].text)
    address = "(weight + (static_cast<int64_t>(min(first_out + o, channels_out - 1)) * channels_in + channel) * 9) + t"
    assert f"sums[p][o] += __ldg({address}) * value;" in made
    assert "taps" not in made


@pytest.mark.parametrize(
    ("fill", "use", "reason"),
    [
        ("held[i] = 2 * x[i];", "out[row] = held[0];", "is filled with more than a value of a read-only buffer"),
        ("held[i] = out[i];", "out[row] = held[0];", "is filled with more than a value of a read-only buffer"),
        ("held[3 - i] = x[i];", "out[row] = held[0];", "not the counters"),
        (FILL, "held[0] += 1; out[row] = held[0];", "is changed"),
        (FILL, "out[row] = sum(held);", "as a whole"),
        (FILL, "{ int n = 3; out[row] = held[n]; }", "n refers to another variable"),
        (FILL, "n = 3; out[row] = held[0];", "n may change"),
        ("{ " + FILL + " out[i] = 1; }", "out[row] = held[0];", "have other effects"),
        ("if (i < n) " + FILL, "out[row] = held[0];", "have other effects"),
        ("{ " + FILL + " } held[0] = 1;", "out[row] = held[0];", "one statement"),
    ],
)
def test_what_is_more_than_loaded(fill, use, reason):
    assert reason in declined(LateLoads(), small(text_of(fill, use)))
