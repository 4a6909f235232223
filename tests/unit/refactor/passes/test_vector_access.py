from __future__ import annotations

import pytest
from pass_subjects import applied, bundled, declined, small, squeezed

from warpsmith.core.hardware import Language
from warpsmith.refactor.base import Rewrite
from warpsmith.refactor.passes.vector_access import VectorAccess

_STRIDED = "for (int i = threadIdx.x; i < n; i += blockDim.x)"
_FLAT = {"grid": ("ceildiv(n, 256)",)}
_INDEX = "const int i = blockIdx.x * blockDim.x + threadIdx.x;\n  "


def _kernel(body: str, before: str = "") -> str:
    return f"{before}__global__ void k(float* out, const float* x, int n) {{\n  {body}\n}}\n"


def _answer(text: str, **options) -> Rewrite:
    subject = small(text, **options)
    answer = applied(VectorAccess(), subject)
    assert answer.variant == subject.variant  # the default is the original itself
    return answer


def _text(answer: Rewrite) -> str:
    (made,) = set(answer.alternatives.values())
    return squeezed(made.text)


def _rules(answer: Rewrite) -> list[str]:
    return [rule.expression for rule in answer.alternatives[2].rules]


def test_a_shared_loop_takes_packs_and_then_the_rest():
    answer = _answer(_kernel(f"{_STRIDED} out[i] = 2.0f * x[i];"))
    text = _text(answer)
    assert "struct alignas(sizeof(T) * N) Pack { T lane[N]; }; __global__ void k" in text
    assert "const int packs = n / VEC; for (int pack = threadIdx.x; pack < packs; pack += blockDim.x) {" in text
    assert "const Pack<float, VEC> x_pack = *reinterpret_cast<const Pack<float, VEC>*>(&x[first]);" in text
    assert "#pragma unroll for (int lane = 0; lane < VEC; ++lane) { out_pack.lane[lane] = 2.0f * x_pack.lane[lane]; }" in text
    assert "*reinterpret_cast<Pack<float, VEC>*>(&out[first]) = out_pack; }" in text
    assert "for (int i = packs * VEC + threadIdx.x; i < n; i += blockDim.x) { out[i] = 2.0f * x[i]; } }" in text
    assert answer.choice is not None
    assert (answer.choice.name, answer.choice.values, answer.choice.default) == ("VEC", (1, 2, 4, 8), 1)
    assert _rules(answer) == []


def test_rows_must_begin_at_multiples():
    body = f"const float* row = x + blockIdx.x * n;\n  {_STRIDED} out[blockIdx.x * n + i] = row[i];"
    answer = _answer(_kernel(body), sizes={"rows": 8, "n": 1004})
    assert _rules(answer) == ["n % VEC == 0"]
    assert answer.choice is not None
    assert answer.choice.values == (1, 2, 4)  # 1004 elements are no multiple of 8
    assert "would be aligned to 2 elements" in declined(VectorAccess(), small(_kernel(body), sizes={"rows": 8, "n": 1001}))


def test_an_offset_that_no_width_divides():
    assert "aligned to 2 elements" in declined(VectorAccess(), small(_kernel(f"{_STRIDED} out[i + 1] = x[i + 3];")))
    answer = _answer(_kernel(f"{_STRIDED} out[i] = x[i + 4];"))
    assert answer.choice is not None
    assert answer.choice.values == (1, 2, 4)


def test_names_inside_a_step_are_spelled_out_before_it():
    text = _text(_answer(_kernel(f"{_STRIDED} {{\n    const int at = blockIdx.x * n + i;\n    out[at] = x[at];\n  }}")))
    assert "(&x[(blockIdx.x * n + first)]);" in text


def test_the_flat_form():
    answer = _answer(_kernel(_INDEX + "if (i < n) {\n    // twice\n    out[i] = 2.0f * x[i] + i;\n  }"), **_FLAT)
    text = _text(answer)
    assert "const int pack = blockIdx.x * blockDim.x + threadIdx.x; const int packs = (n + VEC - 1) / VEC;" in text
    assert "if (pack >= packs) return; const int first = pack * VEC; if (first + VEC <= n) {" in text
    assert "{ const int i = first + lane; // twice out_pack.lane[lane] = 2.0f * x_pack.lane[lane] + i; }" in text
    assert "} else { for (int i = first; i < n; ++i) { // twice out[i] = 2.0f * x[i] + i; } }" in text
    assert answer.alternatives[4].grid == ("ceildiv(ceildiv(n, 256), VEC)",)


def test_a_guard_that_returns_and_an_element_changed_in_place():
    text = _text(_answer(_kernel(_INDEX + "if (i >= n) return;\n  out[i] += x[i];"), **_FLAT))
    assert "Pack<float, VEC> out_pack = *reinterpret_cast<const Pack<float, VEC>*>(&out[first]);" in text
    assert "out_pack.lane[lane] += x_pack.lane[lane];" in text


def test_what_is_written_first_is_not_loaded():
    text = _text(_answer(_kernel(f"{_STRIDED} {{\n    out[i] = x[i];\n    if (x[i] > 1.0f) out[i] = out[i] - 1.0f;\n  }}")))
    assert "Pack<float, VEC> out_pack;" in text
    assert "if (x_pack.lane[lane] > 1.0f) out_pack.lane[lane] = out_pack.lane[lane] - 1.0f;" in text


@pytest.mark.parametrize(
    ("step", "kept"),
    [
        ("out[i] = x[i] + x[i % 8];", "x_pack.lane[lane] + x[i % 8];"),
        ("out[i] = x[i] + x[i + 1];", "x_pack.lane[lane] + x[i + 1];"),  # never aligned
        ("out[i] = x[i] + x[2 * i];", "x_pack.lane[lane] + x[2 * i];"),
        ("out[i] = x[i] + __ldg(&x[n + i]);", "x_pack.lane[lane] + __ldg(&x[n + i]);"),
        ("if (x[i] > 0.0f) out[i] = 1.0f;", "if (x_pack.lane[lane] > 0.0f) out[i] = 1.0f;"),  # some elements are not written
        ("out[i] = i < 8 ? x[i] : 0.0f;", "out_pack.lane[lane] = i < 8 ? x[i] : 0.0f;"),  # some are not read
        ("out[i] = i < 8 && x[i] > 0.0f;", "out_pack.lane[lane] = i < 8 && x[i] > 0.0f;"),
        ("float s = x[i]; for (int j = 0; j < 3; ++j) s += x[i + 8 * j]; out[i] = s;", "s += x[i + 8 * j];"),
    ],
)
def test_accesses_that_stay_as_they_are(step: str, kept: str):
    assert kept in _text(_answer(_kernel(f"{_STRIDED} {{ {step} }}")))


def test_wide_elements_have_fewer_in_an_access():
    answer = _answer(_kernel(f"{_STRIDED} out[i] = x[i];").replace("float*", "double*"))
    assert answer.choice is not None
    assert answer.choice.values == (1, 2, 4)


def test_a_pragma_stays_with_its_loops():
    text = _answer(_kernel(f"#pragma unroll 2\n  {_STRIDED} out[i] = x[i];")).alternatives[2].text
    assert "\n  // VEC neighbouring" in text
    assert text.count("#pragma unroll 2\n  for (int ") == text.count("#pragma unroll 2") == 2


def test_template_types_and_taken_names():
    before = "struct Pack {};\ntemplate <typename T>\n"
    text = _text(_answer(_kernel(f"{_STRIDED} out[i] = x[i];", before).replace("float*", "T*"), entry="k<float>"))
    assert "struct alignas(sizeof(T) * N) Pack_2 { T lane[N]; }; template <typename T> __global__ void k" in text
    assert "const Pack_2<T, VEC> x_pack" in text


def test_a_value_that_a_block_has_in_common():
    reduced = "__shared__ float scale;\n  if (threadIdx.x == 0) scale = x[0];\n  __syncthreads();\n  "
    assert "x_pack.lane[lane] * scale;" in _text(_answer(_kernel(f"{reduced}{_STRIDED} out[i] = x[i] * scale;")))


def test_rows_of_a_block_of_two_dimensions():
    row = "const int row = blockIdx.x * blockDim.y + threadIdx.y;\n  "
    answer = _answer(_kernel(f"{row}{_STRIDED} out[row * n + i] = x[row * n + i];"), block=("32", "8"))
    assert "(&x[row * n + first])" in _text(answer)
    assert "n % VEC == 0" in _rules(answer)


def test_opencl():
    text = """// copies
__kernel void k(__global float* out, const __global float* x, const int n) {
  for (int i = get_local_id(0); i < n; i += get_local_size(0)) out[i] = x[i];
}
"""
    made = _text(_answer(text, language=Language.OPENCL))
    assert "typedef struct __attribute__((aligned(4 * VEC))) { float lane[VEC]; } Pack_float; // copies __kernel" in made
    assert "const Pack_float x_pack = *(const __global Pack_float*)&x[first];" in made
    assert "*(__global Pack_float*)&out[first] = out_pack;" in made


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (
            "out[blockIdx.x] = x[blockIdx.x];",
            "the kernel has no loop distributed over threads and no index that is the thread's index in the grid",
        ),
        ("float s = 0.0f;\n  " + _STRIDED + " s += x[i];\n  out[threadIdx.x] = s;", "s is carried"),
        (_STRIDED + " { if (x[i] < 0.0f) continue; out[i] = x[i]; }", "can end early"),
        (_STRIDED + " { if (x[i] < 0.0f) break; out[i] = x[i]; }", "can leave the loop"),
        (_STRIDED + " { __syncthreads(); out[i] = x[i]; }", "cooperate"),
        (_STRIDED + " { float& to = out[i]; to = x[i]; }", "through references"),
        (_STRIDED + " { scale_in_place(out[i], x[i]); }", "scale_in_place may change an element"),
        (_STRIDED + " out[i] = x[i] + threadIdx.x;", "threadIdx is uniform"),
        (
            _STRIDED.replace("threadIdx.x;", "blockIdx.x * blockDim.x + threadIdx.x;").replace("+= ", "+= gridDim.x * ")
            + " out[i] = x[i] + blockIdx.x;",
            "blockIdx is uniform",
        ),
        (
            _STRIDED + " out[n + i] = x[2 * i] + threadIdx.x;\n  " + _STRIDED + " out[i] = x[i];",
            "writes memory outside the distributed loops",
        ),
        ("const int lane = threadIdx.x % 32;\n  " + _STRIDED + " out[i] = lane * x[i];", "lane is uniform"),
        ("if (threadIdx.x > 7) return;\n  " + _STRIDED + " out[i] = x[i];", "threadIdx is uniform"),
        (_STRIDED + " out[0] = x[i];", "writes disjoint elements in each iteration over"),
        (_STRIDED + " out[i] = out[i + 1] + x[i];", "may read what another iteration writes"),
        (_STRIDED + " out[2 * i] = x[3 * i];", "no unconditional access has unit stride in"),
        (_STRIDED + " atomicAdd(&out[i], x[i]);", "atomicAdd may change an element"),
        (_INDEX + "out[i] = x[i];", "i has no guard"),
        (_INDEX + "const float v = x[i];\n  if (i < n) out[i] = v;", "before its guard"),
        (_INDEX + "if (i >= n) return;\n  if (x[i] < 0.0f) return;\n  out[i] = 1.0f;", "can end early"),
        (_INDEX + "if (i < n) { out[i] = x[i]; __syncthreads(); }", "has barriers"),
    ],
)
def test_says_why_not(body: str, reason: str):
    options = {**_FLAT, "scalars": {"n": "n"}} if body.startswith(_INDEX) else {}
    assert reason in declined(VectorAccess(), small(_kernel(body), **options))


def test_a_launch_that_ends_before_the_guard():
    text = _kernel(_INDEX + "if (i < n) out[i] = x[i];")
    assert "cannot prove that the launch covers the guard's range of" in declined(VectorAccess(), small(text, grid=("2",)))


def test_kernels_with_packs_of_their_own_are_left_alone():
    assert "no unconditional access has unit stride in" in declined(VectorAccess(), bundled("rope"))


@pytest.mark.parametrize("around", ['extern "C" {}', 'extern "C" {{\n{}\n}}'])
def test_a_type_with_parameters_stands_before_what_has_the_linkage_of_c(around: str):
    text = _text(_answer(around.format(_kernel(f"{_STRIDED} out[i] = 2.0f * x[i];"))))
    assert text.index("Pack { T lane[N]; };") < text.index('extern "C"')
