from __future__ import annotations

import pytest
from pass_subjects import applied, bundled, declined, small, squeezed

from warpsmith.refactor.passes.sweeps import Sweeps

_STEP = "const float v = x[i]; const float h = fmaxf(m, v); s = s * expf(m - h) + expf(v - h); m = h;"
_STORE = "out[i] = expf(x[i] - top) / total;"


def _kernel(
    step: str = _STEP, use: str = "s * expf(m - top)", store: str = _STORE, between: str = "", begin: str = "0.0f"
) -> str:
    return f"""
__device__ float all_max(float v) {{ __syncthreads(); return v; }}
__device__ float all_sum(float v) {{ __syncthreads(); return v; }}
__global__ void k(float* out, const float* x, int n) {{
  float m = -INFINITY;
  float s = {begin};
  for (int i = blockIdx.x * n + threadIdx.x; i < blockIdx.x * n + n; i += blockDim.x) {{
    {step}
  }}
  const float top = all_max(m);
  {between}
  const float total = all_sum({use});
  for (int i = blockIdx.x * n + threadIdx.x; i < blockIdx.x * n + n; i += blockDim.x) {{
    {store}
  }}
}}
"""


def _swept(text: str) -> str:
    answer = applied(Sweeps(), small(text))
    assert answer.variant.text == text
    assert answer.choice is not None
    assert (answer.choice.values, answer.choice.default) == ((0, 1), 0)
    return squeezed(answer.alternatives[1].text)


def test_exponentials_wait_in_the_output():
    text = _swept(_kernel())
    assert "{ const float v = x[i]; const float h = (v > m ? v : m); m = h; }" in text
    assert "const float kept = expf(x[i] - top); s += kept; out[i] = kept; } const float total = all_sum(s);" in text
    assert "out[i] = out[i] / total;" in text


def test_exponentials_are_computed_again_where_the_output_is_no_place_for_them():
    header = "for (int i = blockIdx.x * n + threadIdx.x; i < blockIdx.x * n + n; i += blockDim.x)"
    again = header + " { const float v = x[i]; s += expf(v - top); }"
    for store in (
        "out[i] = expf(2.0f * x[i] - top) / total;",  # another value
        "if (i % 2) out[i] = expf(x[i] - top) / total;",  # not in every step
        "out[i] = expf(x[i] - top) / total + out[i + 1];",  # somebody reads it
        "out[threadIdx.x] = expf(x[i] - top) / total;",  # steps share a place
    ):
        text = _swept(_kernel(store=store))
        assert f"{again} const float total = all_sum(s);" in text
        assert store in text


def test_lanes_of_packs():
    text = squeezed(applied(Sweeps(), bundled("softmax")).alternatives[1].text)
    assert (
        "const float kept = expf(static_cast<float>(x.lane[lane]) - row_top); mass += kept; y.lane[lane] = kept; } to[i] = y;"
        in text
    )
    assert "Packed y = to[i]; #pragma unroll" in text
    assert "y.lane[lane] = static_cast<T>(y.lane[lane] * inverse);" in text
    assert "block_reduce<Sum>(mass);" in text
    assert "mass *=" not in text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (_kernel(step="const float v = x[i]; const float h = fmaxf(m, v); s += expf(v - h); m = h;"), "no loop carries"),
        (_kernel(step=_STEP.replace("expf(v - h)", "v * expf(v - h)")), "no loop carries"),
        (_kernel(step=_STEP.replace("expf(m - h)", "expf(h - m)")), "no loop carries"),
        (_kernel(step=_STEP.replace("fmaxf", "fminf")), "no loop carries"),
        (_kernel(step=_STEP + " out[i] = s;"), "no loop carries"),
        (_kernel(use="s"), "no loop carries"),
        (_kernel(use="s * expf(top - m)"), "no loop carries"),
        (_kernel(between="out[0] = s;"), "no loop carries"),
        (_kernel(begin="1.0f"), "no loop carries"),
        (_kernel(between="n = n - 1;"), "may change before s is used"),
        (_kernel(step=_STEP.replace("x[i]", "out[i]")), "memory that the kernel may write"),
    ],
)
def test_says_why_not(text: str, reason: str):
    assert reason in declined(Sweeps(), small(text))
