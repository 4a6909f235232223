"""Loops that fill several tiles, taken apart: what each copy keeps, and what stays as it is."""

import pytest
from pass_subjects import applied, declined, small, squeezed

from warpsmith.refactor.base import Answer, Declined, Subject
from warpsmith.refactor.own_fillings import by_each_tile
from warpsmith.refactor.passes.direct_reads import DirectReads
from warpsmith.refactor.passes.tile_rows import TileRows

KERNEL = """
__global__ void k(float* out, const float* x, const float* y, int n) {{
  __shared__ float a[8][32];
  __shared__ float b[8][32];
  {fill}
  __syncthreads();
  out[blockIdx.x * 32 + threadIdx.x] = a[7 - threadIdx.y][threadIdx.x] * b[threadIdx.y][threadIdx.x];
}}
"""
A = "a[i][threadIdx.x] = x[i * n + threadIdx.x];"
B = "b[i][threadIdx.x] = y[i * n + threadIdx.x];"
OVER_I = "for (int i = threadIdx.y; i < 8; i += 4)"


def subject(fill: str) -> Subject:
    roles = {"out": "out", "x": "in", "y": "in"}
    return small(KERNEL.format(fill=fill), block=("32", "4"), roles=roles)


def taken_apart(fill: str) -> str:
    """The filling as a pass gets to see it."""
    seen: list[str] = []

    def look(each: Subject) -> Answer:
        seen.append(each.variant.text)
        return Declined("only looked")

    by_each_tile(subject(fill), look)
    (text,) = seen
    return squeezed(text.partition("b[8][32];")[2].partition("__syncthreads();\n  out")[0])


def test_each_tile_gets_a_loop_of_its_own():
    assert taken_apart(f"{OVER_I} {{ {A} {B} }}") == squeezed(f"{OVER_I} {{ {A} }} {OVER_I} {{ {B} }}")


def test_a_copy_keeps_what_its_tile_needs_and_no_more():
    fill = f"""
  {OVER_I} {{
    // from x
    const int of_a = i * n;
    a[i][threadIdx.x] = x[of_a];
    // from y
    const int row = i + 1;
    int of_b = row * n;
    if (row > 4) of_b += 1;
    b[i][threadIdx.x] = y[of_b];
  }}"""
    first, second = taken_apart(fill).split(OVER_I)[1:]
    assert first.strip() == "{ // from x const int of_a = i * n; a[i][threadIdx.x] = x[of_a]; }"
    assert second.strip() == (
        "{ // from y const int row = i + 1; int of_b = row * n; if (row > 4) of_b += 1; b[i][threadIdx.x] = y[of_b]; }"
    )


def test_pragmas_conditions_and_steering_go_with_each():
    fill = f"#pragma unroll\n  {OVER_I} {{ if (i == n) continue; if (i < n) {{ {A} {B} }} else {A.replace('= x', '= 0 * x')} }}"
    text = taken_apart(fill)
    assert text.count("#pragma unroll") == 2
    assert text.count("if (i == n) continue;") == 2
    first, second = text.split("#pragma unroll")[1:]
    assert ("else" in first, "b[i]" in first) == (True, False)
    assert ("else" in second, "a[i]" in second) == (False, False)


def test_a_condition_that_fills_only_the_other_is_gone_or_empty():
    text = taken_apart(f"{OVER_I} {{ if (i < n) {A} else {B} }}")
    assert text == squeezed(f"{OVER_I} {{ if (i < n) {A} }} {OVER_I} {{ if (i < n) {{}} else {B} }}")


def test_stores_of_four_count_too():
    four = "*reinterpret_cast<float4*>(&b[i][threadIdx.x * 4]) = *reinterpret_cast<const float4*>(y + i * n);"
    assert taken_apart(f"{OVER_I} {{ {A} {four} }}") == squeezed(f"{OVER_I} {{ {A} }} {OVER_I} {{ {four} }}")


@pytest.mark.parametrize(
    "fill",
    [
        f"{OVER_I} {A} {OVER_I} {B}",  # they have their own already
        f"{OVER_I} {{ {A} {B.replace('y[', 'a[0][')} }}",  # one is read where the other is filled
        f"{OVER_I} {{ {A} {B} __syncthreads(); }}",
        f"{OVER_I} {{ {A} {B} out[i] = 0; }}",
        f"{OVER_I} {{ if (i > n) return; {A} {B} }}",
        f"int last; {OVER_I} {{ {A} {B} last = i; }}",
        f"int i; for (i = 0; i < 8; ++i) {{ {A} {B} }}",
        f"{OVER_I} {{ {A} touch(n); {B} }}",
        f"{OVER_I} {{\n#ifdef LATER\n{A}\n#endif\n{B} }}",
    ],
)
def test_what_stays_together(fill):
    assert taken_apart(fill) == squeezed(fill)


def test_the_form_beside_it_is_the_kernels_own():
    joint = subject(f"{OVER_I} {{ {A} {B} }}")
    rewrite = applied(DirectReads(), joint)
    assert rewrite.variant == joint.variant
    assert [form.text.count(OVER_I) for form in rewrite.alternatives.values()] == [1, 1, 0]
    assert [form.text.count("__shared__") for form in rewrite.alternatives.values()] == [1, 1, 0]


def test_rows_of_both_are_dealt_out_anew():
    rewrite = applied(TileRows(), subject(f"{OVER_I} {{ {A} {B} }}"))
    assert OVER_I not in rewrite.alternatives[1].text
    assert rewrite.choice.meaning.startswith("who fills a and b.")


def test_lines_are_those_of_the_original():
    odd = B.replace("[i]", "[i ^ 1]", 1)
    answer = TileRows().apply(subject(f"{OVER_I} {{\n    {A.replace('[i]', '[i ^ 1]', 1)}\n    {odd}\n  }}"))
    assert isinstance(answer, Declined)
    assert answer.line == 5
    later = subject(f"{OVER_I} {{\n    {A}\n    {B}\n  }}\n  a[0][0] += 1;\n  b[0][0] += 1;")
    assert "is changed" in declined(DirectReads(), later)
    assert DirectReads().apply(later).line == 9
