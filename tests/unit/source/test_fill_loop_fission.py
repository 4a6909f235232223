"""Loops that fill several tiles, taken apart: what each copy keeps, and what stays as it is."""

from __future__ import annotations

import pytest
from source_support import cuda

from warpsmith.source.fill_loop_fission import with_own_fillings

A = "a[i][threadIdx.x] = x[i * n + threadIdx.x];"
B = "b[i][threadIdx.x] = y[i * n + threadIdx.x];"
OVER_I = "for (int i = threadIdx.y; i < 8; i += 4)"


def taken_apart(fill: str) -> str:
    head = "  __shared__ float a[8][32];\n  __shared__ float b[8][32];\n  "
    rest = "\n  __syncthreads();\n  out[threadIdx.x] = a[7 - threadIdx.y][threadIdx.x] * b[threadIdx.y][threadIdx.x];"
    source = cuda(head + fill + rest, signature="float* out, const float* x, const float* y, int n")
    return squeezed(with_own_fillings(source).partition(head)[2].partition(rest)[0])


def squeezed(text: str) -> str:
    return " ".join(text.split())


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
