from __future__ import annotations

import re

import pytest
from pass_subjects import CPU_LIMITS, applied, bundled, declined, small, squeezed

from warpsmith.core.hardware import Language
from warpsmith.refactor.constants import with_words
from warpsmith.refactor.passes.index_width import IndexWidth


def _kernel(body: str) -> str:
    return f"__global__ void k(float* out, const float* x, int n) {{\n  {body}\n}}\n"


def _narrowed(subject) -> str:
    """The kernel with 32-bit indices: its macros put in as the preprocessor does."""
    made = applied(IndexWidth(), subject).variant
    (tunable,) = made.tunables
    assert (tunable.name, tunable.values, tunable.default) == ("INDEX_BITS", (64, 32), 64)
    head = re.search(r"#if INDEX_BITS == 32\n(.*?)#else\n(.*?)#endif\n", made.text, re.DOTALL)
    assert head is not None
    body = made.text.replace(head[0], "")
    narrow, wide = (dict(re.findall(r"#define (\w+) (.*)\n", part)) for part in head.groups())
    assert with_words(body, wide) in (subject.variant.text, subject.variant.text + "\n")  # the default is the original itself
    return squeezed(with_words(body, narrow))


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("merge_attn_states_lse", "const int offset = static_cast<int>(row) * packs + pack;"),
        ("rope", "const int token = blockIdx.x;"),
    ],
)
def test_bundled(name: str, wanted: str):
    text = _narrowed(bundled(name))
    assert wanted in text


def test_what_comes_from_memory_keeps_its_width():
    text = _narrowed(bundled("rope"))
    assert "cos_sin + static_cast<int64_t>(positions[token]) * head_dim" in text


def test_unsigned_stays_unsigned():
    text = _narrowed(small(_kernel("size_t at = (size_t)threadIdx.x * n;\n  out[at] = x[at];")))
    assert "unsigned int at = (unsigned int)threadIdx.x * n;" in text


def test_opencl_places_in_the_grid():
    text = (
        "__kernel void k(__global float* out, __global const float* x, int n) {\n"
        "  for (size_t i = get_global_id(0); i < n; i += get_global_size(0)) out[i] = x[i];\n}\n"
    )
    assert "for (unsigned int i = get_global_id(0);" in _narrowed(small(text, language=Language.OPENCL))


def test_loop_variables():
    text = _narrowed(small(_kernel("for (long long i = threadIdx.x; i < n; i += blockDim.x) out[blockIdx.x * n + i] = x[i];")))
    assert "for (int i = threadIdx.x; i < n;" in text


def test_buffers_must_be_within_reach():
    answer = applied(IndexWidth(), bundled("merge_attn_states_lse"))
    reached = [rule.expression for rule in answer.variant.rules]
    assert f"INDEX_BITS == 64 or (tokens) * (heads) * (head_dim) <= {1 << 30}" in reached


def test_opencl():
    text = """__kernel void k(__global float* out, const __global float* x, const int n) {
  const size_t at = get_group_id(0) * n + get_local_id(0);
  out[at] = x[at];
}
"""
    assert "const unsigned int at = get_group_id(0) * n + get_local_id(0);" in _narrowed(small(text, language=Language.OPENCL))


@pytest.mark.parametrize(
    "body",
    [
        "int64_t at = threadIdx.x * (int64_t)x[0];\n  out[at] = 1.0f;",  # nobody knows what x holds
        "int64_t at = threadIdx.x;\n  at += n;\n  out[at] = 1.0f;",  # it changes
        "int64_t at = threadIdx.x;\n  out[0] = f(at);",  # a function may be overloaded for the type
        "int64_t at = threadIdx.x;\n  auto more = at * 2;\n  out[more] = 1.0f;",  # the type goes on
        "int64_t at = threadIdx.x + n;\n  out[at * n * n % 7] = 1.0f;",  # what is computed from it does not fit
        "int64_t before = threadIdx.x - 1;\n  out[before & 3] = 1.0f;",  # wraps as unsigned, and is masked
        "int64_t at = threadIdx.x - n;\n  if (at > 0) out[at] = 1.0f;",  # unsigned, so never negative
    ],
)
def test_what_may_need_64_bits_keeps_them(body: str):
    assert "cannot prove that" in declined(IndexWidth(), small(_kernel(body)))


def test_declines_where_there_is_nothing_to_narrow():
    assert "no 64-bit index arithmetic" in declined(IndexWidth(), small(_kernel("out[blockIdx.x] = x[threadIdx.x];")))


def test_declines_sizes_that_need_64_bits():
    subject = small(
        _kernel("int64_t row = blockIdx.x + threadIdx.x;\n  out[row * n] = x[row];"), sizes={"rows": 70_000, "n": 70_000}
    )
    assert "fits in 32 bits" in declined(IndexWidth(), subject)


def test_on_a_cpu_it_declines_what_neighbours_have_in_common():
    for name in ("softmax", "matmul_opencl"):  # the block's row; the row of a thread's place along y
        assert applied(IndexWidth(), bundled(name))
        assert "is uniform along x, so 64 bits cost nothing" in declined(IndexWidth(), bundled(name, CPU_LIMITS))
