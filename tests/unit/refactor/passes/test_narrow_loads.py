from __future__ import annotations

import pytest
from pass_subjects import applied, bundled, declined, small, squeezed

from warpsmith.refactor.passes.narrow_loads import NarrowLoads

_SUM = "const float4 v = p[i]; s += (v.x + v.y) + (v.z + v.w);"


def _kernel(step: str = _SUM, after: str = "atomicAdd(out, s);", pack: str = "float4") -> str:
    return f"""__global__ void k(float* out, const float* x, int n) {{
  const {pack}* p = reinterpret_cast<const {pack}*>(x);
  float s = 0.0f;
  for (int i = threadIdx.x; i < n / 4; i += blockDim.x) {{
    {step}
  }}
  {after}
}}
"""


def _narrow(text: str) -> str:
    answer = applied(NarrowLoads(), small(text))
    assert answer.variant.text == text
    return squeezed(answer.alternatives[1].text)


def test_elements_in_place_of_packs():
    answer = applied(NarrowLoads(), bundled("reduction"))
    assert answer.choice is not None
    assert (answer.choice.values, answer.choice.default) == ((1, 4), 4)
    text = squeezed(answer.alternatives[1].text)
    assert "const float* elements = reinterpret_cast<const float*>(packs);" in text
    assert "for (int i = thread; i < n / 4 * 4; i += threads) { const float x = elements[i]; sum += x; }" in text
    assert [rule.expression for rule in answer.alternatives[1].rules] == ["(n / 4) * 4 < 1073741824"]


def test_terms_and_maxima():
    squares = _kernel("const float2 v = p[i]; s += v.x * v.x + v.y * v.y;", pack="float2")
    assert "const float v = elements[i]; s += v * v;" in _narrow(squares)
    highest = "s = fmaxf(s, fmaxf(fmaxf(fabsf(v.x), fabsf(v.y)), fmaxf(fabsf(v.z), fabsf(v.w))));"
    extremes = _kernel(f"const float4 v = p[i]; {highest}")
    assert "s = fmaxf(s, fabsf(v));" in _narrow(extremes)
    assert "i < (n / 4 - 1) * 4;" in _narrow(_kernel().replace("i < n / 4", "i < n / 4 - 1"))


def test_what_all_threads_have_may_be_stored():
    reduced = _kernel(after="s += __shfl_xor_sync(0xffffffff, s, 1); if (threadIdx.x == 0) out[blockIdx.x] = s;")
    assert "s += v;" in _narrow(reduced)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (_kernel("const float4 v = p[i]; s += v.x + v.y + v.z;"), "treats the elements of a pack differently"),
        (_kernel("const float4 v = p[i]; s += v.x + v.y + v.z + 2.0f * v.w;"), "treats the elements of a pack differently"),
        (_kernel("const float4 v = p[i]; s += i * (v.x + v.y + v.z + v.w);"), "treats the elements of a pack differently"),
        (_kernel("const float4 v = p[i]; s = v.x + v.y + v.z + v.w;"), "treats the elements of a pack differently"),
        (_kernel("const float4 v = p[i + 1]; s += v.x + v.y + v.z + v.w;"), "does not load at i"),
        (_kernel(pack="Four"), "the loaded value is not a pack of two or four numbers"),
        (_kernel(after="out[threadIdx.x] = s;"), "a thread uses its own s"),
        (_kernel().replace("float4*>(x)", "float4*>(out)"), "may change"),
        (
            "__global__ void k(float* out, const float* x, int n) { out[0] = x[0]; }",
            "the kernel has no block-stride or grid-stride loop",
        ),
    ],
)
def test_says_why_not(text: str, reason: str):
    assert reason in declined(NarrowLoads(), small(text))


def test_blocks_results_of_a_grid():
    text = _kernel(after="s += __shfl_xor_sync(0xffffffff, s, 1); out[blockIdx.x] = s;").replace(
        "int i = threadIdx.x; i < n / 4; i += blockDim.x",
        "int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 4; i += gridDim.x * blockDim.x",
    )
    assert "per-block s is stored" in declined(NarrowLoads(), small(text))
