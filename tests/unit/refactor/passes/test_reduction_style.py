"""`reduction_style`: what it recognises, what it makes of it, and which rules go."""

from dataclasses import replace

import pytest
from pass_subjects import applied, bundled, declined, small, squeezed

from warpsmith.refactor.base import Rule, Subject, Tunable
from warpsmith.refactor.passes.reduction_style import ReductionStyle

WARP = """
__device__ float warp_max(float v) {
  for (unsigned step = warpSize / 2; step > 0; step >>= 1) v = fmaxf(v, __shfl_xor_sync(~0u, v, step, 32));
  return v;
}
"""
BLOCK = """
__device__ float block_max(float v) {
  __shared__ float slots[32];
  int l = threadIdx.x & 31;  // a comment
  int w = threadIdx.x >> 5;
  v = warp_max(v);
  if (l == 0) { slots[w] = v; }
  __syncthreads();
  v = warp_max(l < (blockDim.x + 31) / 32 ? slots[l] : -INFINITY);
  return v;
}
"""
KERNEL = "__global__ void k(float* out, const float* x, int n) { out[blockIdx.x] = block_max(x[threadIdx.x]); }\n"


def sized(subject: Subject, *rules: Rule) -> Subject:
    tunables = (Tunable("BLOCK", (8, 32, 1024), 1024, ""),)
    return Subject(subject.kernel, subject.limits, replace(subject.variant, block=("BLOCK",), tunables=tunables, rules=rules))


def test_the_default_is_untouched_and_the_others_keep_the_signature():
    subject = sized(bundled("softmax"))
    rewrite = applied(ReductionStyle(), subject)
    assert rewrite.variant == subject.variant
    assert (rewrite.choice.name, rewrite.choice.values, rewrite.choice.default) == ("REDUCE", (0, 1, 2, 3), 0)
    serial = squeezed(rewrite.alternatives[1].text)
    assert "block_reduce(float value) { __shared__ float partial[BLOCK]; partial[threadIdx.x] = value; __syncthreads();" in serial
    assert "value = Op()(value, partial[i]);" in serial
    assert "return warp_reduce<Op>(value);" in rewrite.alternatives[2].text
    assert "BLOCK <= 64" in [rule.expression for rule in rewrite.alternatives[1].rules]


def test_other_spellings():
    subject = sized(small(WARP + BLOCK + KERNEL))
    assert "v = fmaxf(v, slots[i]);" in applied(ReductionStyle(), subject).alternatives[1].text


def test_a_second_call_waits_for_the_first():
    twice = KERNEL.replace("block_max(x[threadIdx.x])", "block_max(x[threadIdx.x]) + block_max(x[0])")
    for kernel, guarded in ((KERNEL, False), (twice, True), (KERNEL.replace("out[", "for (;n;) out["), True)):
        text = applied(ReductionStyle(), sized(small(WARP + BLOCK + kernel))).alternatives[1].text
        assert ("the array may be used again" in text) is guarded


WHOLE = Rule("BLOCK % warp_size == 0", "lanes exchange values: warps must be whole")
SLOTS = Rule("BLOCK <= 1024", "slots has a slot for each of at most 32 warps")
OTHER = Rule("n % 4 == 0", "rows must be whole packs")


def test_rules_about_warps_go_only_where_nothing_else_exchanges_values():
    rewrite = applied(ReductionStyle(), sized(small(WARP + BLOCK + KERNEL), WHOLE, SLOTS, OTHER))
    assert rewrite.alternatives[3].rules == (OTHER,)
    assert {WHOLE, SLOTS, OTHER} < set(rewrite.alternatives[2].rules)
    busy = KERNEL.replace("x[threadIdx.x]", "warp_max(x[threadIdx.x])")
    assert WHOLE in applied(ReductionStyle(), sized(small(WARP + BLOCK + busy), WHOLE)).alternatives[3].rules


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("slots[w] = v", "slots[l] = v"),
        ("if (l == 0)", "if (w == 0)"),
        ("step > 0", "step > 1"),
        ("v = warp_max(v);", "v = warp_max(v + 1);"),
        ("return v;\n}\n\n__device__", "return -v;\n}\n\n__device__"),
        ("__syncthreads();", ""),
        ("block_max(x[threadIdx.x])", "x[0]"),
    ],
)
def test_what_differs_is_not_recognised(before, after):
    text = (WARP + BLOCK + KERNEL).replace(before, after)
    assert "calls no block reduction" in declined(ReductionStyle(), sized(small(text)))


def test_what_else_it_declines():
    subject = small(WARP + BLOCK + KERNEL, block=("n / 4",))
    assert "bounded by no parameter" in declined(ReductionStyle(), subject)
    assert "more than one dimension" in declined(ReductionStyle(), small(WARP + BLOCK + KERNEL, block=("32", "8")))
