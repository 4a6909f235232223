from __future__ import annotations

import pytest
from pass_subjects import applied, bundled, declined, small, squeezed

from warpsmith.core.hardware import Language
from warpsmith.refactor.base import Tunable
from warpsmith.refactor.passes.whole_steps import WholeSteps

_SCALE = """
__global__ void k(float* out, const float* x, int n) {
  out += blockIdx.x * n;
  x += blockIdx.x * n;
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = 2.0f * x[i];
}
"""

_FOUR = "*reinterpret_cast<float4*>(&tile[i * 4]) = reinterpret_cast<const float4*>(x)[i];"


def _loop(header: str, body: str = "out[i] = 2.0f * x[i];", before: str = "") -> str:
    return f"""__global__ void k(float* out, const float* x, int n) {{
  {before}
  for ({header}) {{
    {body}
  }}
}}
"""


def _rewritten(text: str, **options) -> str:
    answer = applied(WholeSteps(), small(text, **options))
    assert answer.variant.text == text  # the default is the original itself
    (other,) = set(answer.alternatives.values())
    return squeezed(other.text)


def test_whole_steps_come_first_and_the_loop_does_the_rest():
    text = _rewritten(_SCALE)
    assert "const int step = blockDim.x; const int whole = n / (step * ITEMS) * (step * ITEMS);" in text
    assert (
        "for (int first = 0; first < whole; first += step * ITEMS) { #pragma unroll for (int item = 0; item < ITEMS; ++item) {"
        in text
    )
    assert "const int i = first + item * step + static_cast<int>(threadIdx.x); out[i] = 2.0f * x[i]; } }" in text
    assert "for (int i = whole + threadIdx.x; i < n; i += blockDim.x) out[i] = 2.0f * x[i];" in text


def test_choice_is_off_by_default_and_bounded_by_the_longest_loop():
    def values(n: int) -> tuple[int, ...]:
        choice = applied(WholeSteps(), small(_SCALE, sizes={"rows": 4, "n": n})).choice
        assert choice is not None
        assert choice.default == 0
        return choice.values

    assert values(4000) == (0, 1, 2, 4, 8)
    assert values(100) == (0, 1, 2)
    assert "no workload has a whole step" in declined(WholeSteps(), small(_SCALE, sizes={"rows": 4, "n": 31}))


def test_loops_over_one_range_share_what_is_declared():
    answer = applied(WholeSteps(), bundled("softmax"))
    text = answer.alternatives[4].text
    assert text.count("const int whole = ") == 1
    assert text.count("first < whole") == 2


def test_a_range_that_changes_in_between_is_computed_again():
    text = (
        _loop("int i = threadIdx.x; i < n; i += blockDim.x").rstrip("}\n")
        + """}
  n /= 2;
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] += x[i];
}
"""
    )
    assert _rewritten(text).count("= n / (step") == 2


def test_grid_stride_loop():
    text = _rewritten(
        _loop("int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x"), grid=("ceildiv(n, 256)",)
    )
    assert "const int step = blockDim.x * gridDim.x;" in text
    assert "const auto out_own = out + static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);" in text
    assert "const int i = first + item * step; out_own[i] = 2.0f * x_own[i];" in text
    assert "for (int i = whole + blockIdx.x * blockDim.x + threadIdx.x; i < n;" in text


def test_step_may_be_a_number_when_the_launch_says_that_a_block_has_as_many_threads():
    text = _loop("int i = threadIdx.x; i < n; i += 256")
    assert "const int step = 256;" in _rewritten(text)
    assert "the kernel has no block-stride" in declined(WholeSteps(), small(text, block=("128",)))


def test_step_may_be_a_parameter_of_the_launch():
    text = "constexpr int kThreads = THREADS;\n" + _loop("int i = threadIdx.x; i < n; i += kThreads")
    tunables = (Tunable("THREADS", (128, 256), 256, ""),)
    assert "const int step = kThreads;" in _rewritten(text, block=("THREADS",), tunables=tunables)


@pytest.mark.parametrize(
    ("extent", "width"),
    [
        ("BLOCK", "BLOCK"),
        ("min(ceildiv(n / 4, 32) * 32, BLOCK)", "BLOCK <= 32 ? BLOCK : blockDim.x"),
        ("min(ceildiv(n / 4, 32) * 16, BLOCK)", "blockDim.x"),  # could be 16 where BLOCK is 32
        ("min(n / 4, BLOCK)", "blockDim.x"),
        ("n / BLOCK", "blockDim.x"),
    ],
)
def test_width_of_a_block_is_a_number_where_the_launch_says_so(extent: str, width: str):
    tunables = (Tunable("BLOCK", (8, 256), 256, ""),)
    assert f"const int step = {width};" in _rewritten(_SCALE, block=(extent,), tunables=tunables)


def test_threads_of_two_dimensions_in_one_line():
    line = "const int t = threadIdx.y * 16 + threadIdx.x;"
    text = _loop("int i = t; i < n; i += 256", before=line)
    assert "const auto x_own = x + t;" in _rewritten(text, block=("16", "16"))
    assert "the kernel has no block-stride" in declined(WholeSteps(), small(text, block=("32", "8")))


def test_loop_that_starts_at_a_segment():
    text = _rewritten(_loop("int i = begin + threadIdx.x; i < n; i += blockDim.x", before="const int begin = blockIdx.x * 64;"))
    assert "const int whole = (n - begin) / (step * ITEMS) * (step * ITEMS);" in text
    assert "for (int i = whole + begin + threadIdx.x; i < n;" in text


def test_opencl_has_its_own_casts():
    text = """__kernel void k(__global float* out, const __global float* x, int n) {
  for (int i = get_local_id(0); i < n; i += get_local_size(0)) out[i] = x[i];
}
"""
    assert "const int i = first + item * step + (int)get_local_id(0);" in _rewritten(text, language=Language.OPENCL)


def test_loop_governed_by_a_condition_gets_a_scope():
    text = _SCALE.replace("  for (int i", "  if (n > 0)\n    for (int i")
    rewritten = _rewritten(text)
    assert "if (n > 0) { // Whole steps" in rewritten
    assert rewritten.endswith("out[i] = 2.0f * x[i]; } }")


def test_names_of_the_kernel_are_left_alone():
    text = _rewritten(_SCALE.replace("int n)", "int n, int whole, int ITEMS)"), scalars={"n": "n", "whole": "n", "ITEMS": "n"})
    assert "const int whole_2 = n / (step * ITEMS_) * (step * ITEMS_);" in text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (_loop("int i = threadIdx.x; i < n; i += blockDim.x", "if (x[i] < 0.0f) break; out[i] = 1.0f;"), "can leave the loop"),
        (_loop("int i = threadIdx.x; i < n; i += blockDim.x", "__syncthreads(); out[i] = x[i];"), "contains a barrier"),
        (_loop("int i = threadIdx.x; i < n; i += blockDim.x", 'asm volatile("bar.sync 0;");'), "contains a barrier"),
        (_loop("int i = threadIdx.x; i < n; i += blockDim.x", "out[i] = x[i]; n -= 1;"), "may change while the loop runs"),
        (_loop("int i = threadIdx.x; i < n; i += blockDim.x", "out[i] = x[i]; i += 1;"), "changes i"),
        (_loop("int i = threadIdx.x; i <= n; i += blockDim.x"), "includes its bound"),
        (_loop("auto i = threadIdx.x; i < n; i += blockDim.x"), "has type auto"),
        (_loop("int i = n - n % 4 + threadIdx.x; i < n; i += blockDim.x"), "the remainder of another loop"),
        (_loop("unsigned i = 8 + threadIdx.x; i < n; i += blockDim.x"), "may have a bound below its start"),
        (_loop("int i = 0; i < n; ++i"), "the kernel has no block-stride or grid-stride loop"),
        (_loop("int i = threadIdx.x; i < n; i += 2 * blockDim.x"), "the kernel has no block-stride or grid-stride loop"),
        (_loop("int i = threadIdx.x; i < out[0]; i += blockDim.x"), "may change while the loop runs"),
        (_loop("int i = threadIdx.x; i < 64; i += blockDim.x", _FOUR, "__shared__ float tile[256];"), "fills a tile"),
    ],
)
def test_says_why_not(text: str, reason: str):
    assert reason in declined(WholeSteps(), small(text))


def test_a_break_of_an_inner_loop_is_no_matter():
    inner = "for (int j = 0; j < 4; ++j) { if (x[i] < j) break; out[i] = j; }"
    assert "first < whole" in _rewritten(_loop("int i = threadIdx.x; i < n; i += blockDim.x", inner))


def test_a_tail_beside_a_suitable_loop_is_left_as_it_is():
    text = applied(WholeSteps(), bundled("silu_and_mul")).alternatives[1].text
    assert "for (int i = d - d % kLanes + threadIdx.x; i < d; i += blockDim.x) {" in text
    assert text.count("first < whole") == 1


def test_step_that_needs_its_number_keeps_it():
    text = _rewritten(_loop("int i = threadIdx.x; i < n; i += blockDim.x", "out[i] = 2.0f * i;"))
    assert "const int i = first + item * step + static_cast<int>(threadIdx.x); out[i] = 2.0f * i;" in text


def test_sums_get_accumulators():
    kernel = _loop("int i = threadIdx.x; i < n; i += blockDim.x", "s += x[i];", before="float s = 1.0f;")
    form = applied(WholeSteps(), small(kernel)).alternatives[4]
    assert [(t.name, t.values, t.default) for t in form.tunables] == [("ACCUMULATORS", (1, 2, 4, 8), 1)]
    assert "ACCUMULATORS <= max(ITEMS, 1)" in [rule.expression for rule in form.rules]
    text = squeezed(form.text)
    assert "float s_parts[ACCUMULATORS] = {s};" in text
    assert "s_parts[item % ACCUMULATORS] += x_own[i];" in text
    assert "s = s_parts[0]; #pragma unroll for (int part = 1; part < ACCUMULATORS; ++part) s += s_parts[part];" in text
    assert "s += x[i];" in text  # the rest


def test_only_plain_sums_get_accumulators():
    for step in ("s = 0.5f * s + x[i];", "s = fmaxf(s, x[i]);", "s += x[i]; out[i] = s;"):
        kernel = _loop("int i = threadIdx.x; i < n; i += blockDim.x", step, before="float s = 0.0f;")
        assert not applied(WholeSteps(), small(kernel)).alternatives[4].tunables
