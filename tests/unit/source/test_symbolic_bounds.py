from __future__ import annotations

import pytest

from warpsmith.core.hardware import Language
from warpsmith.source import Names, parse_kernel
from warpsmith.source.symbolic_bounds import End, Extremes
from warpsmith.source.tree import field, of_kind

TEXT = """#define FOUR 4
constexpr int kTile = TILE;
__global__ void k(const float* x, int n, unsigned u) {{
  const int first = blockIdx.x * kTile;
  const int lane = threadIdx.x % 8;
  int changing = 1;
  changing += 1;
  for (int t = 0; t < n; t += kTile) {{
    for (int i = threadIdx.y; i < kTile; i += 2) {{
      for (int j = 0; j <= 3; ++j)
        for (int s = 0; s < kTile; s += FOUR) {{ int found = {expression}; }}
    }}
  }}
}}
"""


def extremes(expression: str, own: str = ""):
    source = parse_kernel(TEXT.format(expression=expression), Language.CUDA, "k")
    names = Names(source, ["TILE"])
    inner = list(of_kind(source.body, "for_statement"))[1]
    declared = next(d for d in of_kind(source.body, "init_declarator") if source.text_of(field(d, "declarator")) == "found")
    extents = {"blockDim.x": "32", "blockDim.y": "TILE / 4"}
    return Extremes(names, inner, extents, own), field(declared, "value")


@pytest.mark.parametrize(
    ("expression", "least", "greatest"),
    [
        ("first + n", "first + n", "first + n"),
        ("first + i", "first", "first + kTile - 1"),  # the threads' own start is at least 0
        ("t + j", "t", "t + 3"),  # the outer loop goes on elsewhere: its count is given
        ("threadIdx.x * 4 + j", "0", "31 * 4 + 3"),
        ("threadIdx.y * FOUR", "0", "(TILE / 4 - 1) * FOUR"),
        ("lane", "0", "7"),
        ("t + s", "t", "t + (kTile - 1) / FOUR * FOUR"),
        ("i / 4", "0", "(kTile - 1) / 4"),
        ("i % (kTile / 2) * 4", "0", "(kTile / 2 - 1) * 4"),
        ("n - i", "n - (kTile - 1)", "n - 0"),
        ("blockIdx.x * 8 + j", "static_cast<int>(blockIdx.x) * 8", "static_cast<int>(blockIdx.x) * 8 + 3"),
        ("static_cast<int>(threadIdx.x) - 1", "0 - 1", "31 - 1"),
        ("(n > 3 ? 1 : 2) + j", "(n > 3 ? 1 : 2)", "(n > 3 ? 1 : 2) + 3"),
        ("changing + j", None, None),
        ("n * j", None, None),  # n might be negative
        ("x[j]", None, None),
    ],
)
def test_ends(expression: str, least: str | None, greatest: str | None):
    found, node = extremes(expression)
    assert found.of(node, End.LEAST) == least
    assert found.of(node, End.GREATEST) == greatest


@pytest.mark.parametrize(
    ("expression", "signed", "natural", "about_data"),
    [
        ("first + i", True, True, True),
        ("first - i", True, False, True),
        ("threadIdx.x + 1", False, True, False),
        ("static_cast<int>(threadIdx.x) + i", True, True, False),
        ("u + i", False, False, True),
        ("n", True, False, True),
        ("kTile + 2u", False, True, False),
        ("t", True, True, True),
    ],
)
def test_signs(expression: str, *, signed: bool, natural: bool, about_data: bool):
    found, node = extremes(expression)
    assert (found.signs.is_signed(node), found.signs.is_natural(node), found.signs.is_about_data(node)) == (
        signed,
        natural,
        about_data,
    )


def test_a_thread_may_speak_for_itself():
    found, node = extremes("first + threadIdx.y * 4 + threadIdx.x + j", own="y")
    assert found.of(node, End.LEAST) == "first + static_cast<int>(threadIdx.y) * 4"
    assert found.of(node, End.GREATEST) == "first + static_cast<int>(threadIdx.y) * 4 + 31 + 3"


@pytest.mark.parametrize(
    ("own", "least", "greatest"),
    [
        ("", "(int)get_group_id(1) * (TILE / 4)", "(int)get_group_id(1) * (TILE / 4) + TILE / 4 - 1"),
        ("y", "(int)get_global_id(1)", "(int)get_global_id(1)"),
    ],
)
def test_a_place_in_the_grid_of_opencl(own: str, least: str, greatest: str):
    text = "__kernel void k(int n) { const int row = get_global_id(1); for (int i = 0; i < n; ++i) { int found = row; } }"
    source = parse_kernel(text, Language.OPENCL, "k")
    loop = next(of_kind(source.body, "for_statement"))
    found = next(d for d in of_kind(loop, "init_declarator") if source.text_of(field(d, "declarator")) == "found")
    asked = Extremes(Names(source), loop, {"blockDim.y": "TILE / 4"}, own)
    assert asked.signs.is_natural(field(found, "value"))
    assert asked.signs.is_about_data(field(found, "value"))
    assert [asked.of(field(found, "value"), end) for end in (End.LEAST, End.GREATEST)] == [least, greatest]
