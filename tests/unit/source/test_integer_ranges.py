from __future__ import annotations

import pytest

from warpsmith.core.hardware import Geometry, Language
from warpsmith.source import Names, parse_kernel
from warpsmith.source.integer_ranges import Interval, Intervals
from warpsmith.source.tree import field, of_kind


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        ("blockIdx.x * blockDim.x + threadIdx.x", (0, 3 * 32 + 31)),
        ("3 - threadIdx.x", (-28, 3)),
        ("threadIdx.x / 5", (0, 6)),
        ("threadIdx.x % 5", (0, 4)),
        ("(long long)threadIdx.x * -2", (-62, 0)),
        ("static_cast<int>(blockIdx.x)", (0, 3)),
        ("threadIdx.x > 3 ? blockIdx.x : 100", (0, 100)),
        ("twice + 1", (1, 63)),
        ("i", (2, 14)),  # it ends the loop with 10 to 14
        ("changing", None),
        ("out[0]", None),
        ("threadIdx.x / blockIdx.x", None),
    ],
)
def test_intervals(expression: str, wanted: tuple[int, int] | None):
    text = f"""__global__ void k(int* out) {{
  int twice = threadIdx.x * 2;
  int changing = 1;
  changing += 1;
  for (int i = 2; i < 10; i += 4) {{ int found = {expression}; }}
}}
"""
    source = parse_kernel(text, Language.CUDA, "k")
    intervals = Intervals(Names(source), Geometry((4, 1, 1), (32, 1, 1)), {})
    declared = next(d for d in of_kind(source.body, "init_declarator") if source.text_of(field(d, "declarator")) == "found")
    assert intervals.of(field(declared, "value")) == (Interval(*wanted) if wanted else None)


@pytest.mark.parametrize(
    ("header", "wanted"),
    [
        ("int i = 2; i < 10; i += 4", (2, 6)),  # it stops short of the bound
        ("int i = 0; i <= 8; ++i", (0, 8)),
        ("int i = threadIdx.x; i < 40; i += 32", (0, 39)),
    ],
)
def test_inside_a_loop_s_body_its_variable_is_below_the_bound(header: str, wanted: tuple[int, int]):
    source = parse_kernel(f"__global__ void k(int* out) {{ for ({header}) {{ int found = i; }} }}", Language.CUDA, "k")
    intervals = Intervals(Names(source), Geometry((4, 1, 1), (32, 1, 1)), {}, inside=True)
    declared = next(d for d in of_kind(source.body, "init_declarator") if source.text_of(field(d, "declarator")) == "found")
    assert intervals.of(field(declared, "value")) == Interval(*wanted)
