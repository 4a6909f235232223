from __future__ import annotations

import pytest
from pass_subjects import applied, bundled, declined, small, squeezed

from warpsmith.core.hardware import Language
from warpsmith.refactor.base import Subject
from warpsmith.refactor.passes.split_grid import SplitGrid
from warpsmith.refactor.passes.whole_steps import WholeSteps


def _kernel(body: str = "out[i] = 2.0f * x[i];", before: str = "", after: str = "", parameters: str = "int n") -> str:
    return f"""struct Pair {{
  float a[2];
  __device__ void store(float* to) const {{ *reinterpret_cast<Pair*>(to) = *this; }}
  __device__ void swap(float* with) {{ a[0] = *with; *with = a[1]; }}
}};
__global__ void k(float* out, const float* x, {parameters}) {{
  out += blockIdx.x * n;
  const float* in = x + n * blockIdx.x;
  {before}
  for (int i = threadIdx.x; i < n; i += blockDim.x) {{
    {body}
  }}
  {after}
}}
"""


def _split(text: str, **options) -> str:
    answer = applied(SplitGrid(), small(text, **options))
    assert answer.variant.text == text
    assert set(answer.alternatives) <= {2, 4, 8, 0}
    assert len({v.text for value, v in answer.alternatives.items() if value}) == 1
    return squeezed(answer.alternatives[2].text)


_OWN = "float* row = out + blockIdx.x * n; const float* in = x + n * blockIdx.x;"


def _plain(body: str, **parts: str) -> str:
    return _kernel(body, **parts).replace("  out += blockIdx.x * n;\n", "").replace("const float* in = x + n * blockIdx.x;", _OWN)


def test_block_and_steps_are_shared_out():
    text = _split(_plain("row[i] = 2.0f * in[i];"))
    assert "float* row = out + (blockIdx.x / SPLIT) * n; const float* in = x + n * (blockIdx.x / SPLIT);" in text
    assert "for (int i = blockIdx.x % SPLIT * blockDim.x + threadIdx.x; i < n; i += blockDim.x * SPLIT) {" in text


def test_pointers_may_be_moved_to_the_row():
    text = _split(_kernel("out[i] = in[i];"))
    assert "out += (blockIdx.x / SPLIT) * n;" in text


def test_grid_grows():
    answer = applied(SplitGrid(), small(_plain("row[i] = in[i];"), grid=("rows + 1", "2")))
    assert answer.alternatives[2].grid == ("(rows + 1) * SPLIT", "2")
    assert answer.choice is not None
    assert (answer.choice.values, answer.choice.default) == ((1, 2, 4, 8, 0), 1)
    short = small(_plain("row[i] = in[i];"), sizes={"rows": 4, "n": 100})
    choice = applied(SplitGrid(), short).choice
    assert choice is not None
    assert choice.values == (1, 2, 4, 0)


def test_a_block_for_each_step():
    answer = applied(SplitGrid(), small(_plain("row[i] = in[i];"), block=("min(n, 256)",)))
    text = squeezed(answer.alternatives[0].text)
    assert "const int steps = max(1, static_cast<int>((n + blockDim.x - 1) / blockDim.x));" in text
    assert "const int part = blockIdx.x % steps; float* row = out + (blockIdx.x / steps) * n;" in text
    assert "const int width = blockDim.x; const int first = min(part * width, n - width);" in text
    assert "const int i = first + static_cast<int>(threadIdx.x); row[i] = in[i]; }" in text
    assert "for (" not in text
    assert answer.alternatives[0].grid == ("rows * max(ceildiv(n, min(n, 256)), 1)",)
    assert [rule.expression for rule in answer.alternatives[0].rules] == ["min(n, 256) <= n"]


def test_steps_that_cannot_be_repeated_are_checked_at_the_end_of_the_row():
    answer = applied(SplitGrid(), small(_plain("row[i] += in[i];"), roles={"out": "inout", "x": "in"}))
    text = squeezed(answer.alternatives[0].text)
    assert "const int first = part * width; if (first + width <= n) { const int i = first + " in text
    assert "} else { for (int i = first + static_cast<int>(threadIdx.x); i < n; i += width * steps) {" in text
    assert answer.alternatives[0].rules == ()


def test_steps_are_counted_from_names_that_come_later():
    text = applied(SplitGrid(), bundled("rope")).alternatives[0].text
    assert "max(1, static_cast<int>(((q_heads + k_heads) * (head_dim / 2 / kLanes) + blockDim.x - 1) / blockDim.x));" in text


def test_the_rest_of_a_row_is_looked_for_once():
    text = applied(SplitGrid(), bundled("silu_and_mul")).alternatives[0].text
    assert (
        "  if (d - d % kLanes < d) {  // the same for all threads\n#pragma unroll 1\n    for (int i = part * blockDim.x + "
        in text
    )


def test_no_single_steps_where_a_step_is_cut_short():
    text = _plain("if (in[i] < 0.0f) continue; row[i] = in[i];")
    assert set(applied(SplitGrid(), small(text)).alternatives) == {2, 4, 8}


def test_all_loops_over_the_row_are_split_the_same_way():
    text = applied(SplitGrid(), bundled("silu_and_mul")).alternatives[4].text
    assert "for (int i = blockIdx.x % SPLIT * blockDim.x + threadIdx.x; i < d / kLanes; i += blockDim.x * SPLIT) {" in text
    assert (
        "for (int i = blockIdx.x % SPLIT * blockDim.x + d - d % kLanes + threadIdx.x; i < d; i += blockDim.x * SPLIT) {" in text
    )


def test_place_may_follow_the_quotient_and_the_remainder():
    assert "blockIdx.x / SPLIT;" in applied(SplitGrid(), bundled("rope")).alternatives[2].text
    body = "const int r = i / m; const int c = i % m; row[r * 2 * m + c] = in[i];"
    assert "SPLIT" in _split(_plain(body, parameters="int n, int m"), scalars={"n": "n", "m": "8"})
    assert "disjoint elements" in declined(SplitGrid(), small(_plain("row[i / 2] = in[i];")))


def test_whole_steps_of_what_was_split():
    subject = bundled("rope")
    other = applied(SplitGrid(), subject).alternatives[2]
    text = applied(WholeSteps(), Subject(subject.kernel, subject.limits, other)).alternatives[1].text
    assert "const int step = blockDim.x * SPLIT;" in text


def test_opencl():
    text = """__kernel void k(__global float* out, const __global float* x, int n) {
  for (int i = get_local_id(0); i < n; i += get_local_size(0)) out[get_group_id(0) * n + i] = x[i];
}
"""
    rewritten = _split(text, language=Language.OPENCL)
    assert "i = get_group_id(0) % SPLIT * get_local_size(0) + get_local_id(0); i < n; i += get_local_size(0) * SPLIT" in rewritten
    assert "out[(get_group_id(0) / SPLIT) * n + i]" in rewritten


def test_in_place_steps_read_their_own_element_only():
    inout = {"out": "inout", "x": "in"}
    assert "SPLIT" in _split(_plain("row[i] = row[i] + in[i];"), roles=inout)
    assert "may read what another iteration writes" in declined(SplitGrid(), small(_plain("row[i] = row[i + 1];"), roles=inout))
    second = "for (int i = threadIdx.x; i < n; i += blockDim.x) { row[i] += 1.0f; }"
    assert "SPLIT" in _split(_plain("row[i] = in[i];", after=second), roles=inout)
    reversed_ = "for (int i = threadIdx.x; i < n; i += blockDim.x) { row[i] = row[n - 1 - i]; }"
    assert "may read what another" in declined(SplitGrid(), small(_plain("row[i] = in[i];", after=reversed_), roles=inout))
    shifted = "for (int i = 1 + threadIdx.x; i < n; i += blockDim.x) { row[i] += 1.0f; }"
    assert "may read what another" in declined(SplitGrid(), small(_plain("row[i] = in[i];", after=shifted), roles=inout))


def test_methods_that_only_write():
    assert "SPLIT" in _split(_plain("Pair p; p.a[0] = in[i]; p.a[1] = in[i]; p.store(row + i * 2);"))
    assert "may read what another" in declined(
        SplitGrid(), small(_plain("Pair p; p.a[1] = in[i]; p.swap(row + 2 * i); p.store(row + i * 2 + 1);"))
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (_kernel("out[i] = in[i];", before="out = buffer;", parameters="int n, float* buffer"), "cannot tell what line"),
        (_plain("sum += in[i];", before="float sum = 0.0f;", after="row[threadIdx.x] = sum;"), "outside the distributed loops"),
        (_plain("last = in[i]; row[i] = last;", before="float last = 0.0f;"), "last is carried"),
        (_plain("seen[i % 2] = in[i]; row[i] = seen[0];", before="float seen[2];"), "seen is carried"),
        (_plain("row[0] = in[i];"), "writes disjoint elements in each iteration over"),
        (_plain("row[threadIdx.x] = in[i];"), "writes disjoint elements in each iteration over"),
        (
            _plain("row[index[i]] = in[i];", parameters="int n, const int* index"),
            "writes disjoint elements in each iteration over",
        ),
        (_plain("atomicAdd(&row[i], in[i]);"), "atomically"),
        (_plain("if (in[i] < 0.0f) break; row[i] = in[i];"), "an iteration can leave it"),
        (_plain("if (in[i] < 0.0f) return; row[i] = in[i];"), "an iteration can leave it"),
        (_plain("row[i] = in[i] + gridDim.x;"), "uses gridDim.x"),
        (_plain("row[i] = in[i];", before="__syncthreads();"), "has barriers"),
        (_plain("row[i] = in[i];", before="__shared__ float s[4];"), "uses shared memory"),
        (_plain("row[i] = in[i];", after="if (threadIdx.x == 0) out[0] = 1.0f;"), "outside the distributed loops"),
        (_plain("row[i] = __shfl_sync(~0u, in[i], 0);"), "exchanges values inside a warp"),
    ],
)
def test_says_why_not(text: str, reason: str):
    assert reason in declined(SplitGrid(), small(text))
