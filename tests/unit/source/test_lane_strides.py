"""How far apart neighbouring threads touch memory, by access."""

from __future__ import annotations

import pytest

from warpsmith.core.hardware import Language
from warpsmith.source import parse_kernel
from warpsmith.source.lane_strides import lane_accesses

HEAD = "__global__ void k(float* out, const float* in, const int* index, int n, int m) {\n"


def apart(body: str, parameters: tuple[str, ...] = ()) -> dict[str, str | None]:
    found = lane_accesses(parse_kernel(f"{HEAD}{body}\n}}\n", Language.CUDA, "k"), parameters)
    return {access.text: access.apart for access in found}


@pytest.mark.parametrize(
    ("body", "access", "elements"),
    [
        ("out[blockIdx.x * blockDim.x + threadIdx.x] = 0;", "out[blockIdx.x * blockDim.x + threadIdx.x]", "1"),
        ("const int r = blockIdx.x * 64 + threadIdx.x; out[r * (n / 8) + 3] = 0;", "out[r * (n / 8) + 3]", "(n/8)"),
        ("for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = in[m];", "out[i]", "1"),
        ("for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = in[m];", "in[m]", "0"),
        ("const float* row = in + threadIdx.x * m; out[0] = row[5];", "row[5]", "m"),
        ("out[threadIdx.y * n] = 0;", "out[threadIdx.y * n]", "0"),
        ("out[index[threadIdx.x]] = 0;", "out[index[threadIdx.x]]", None),
        ("out[threadIdx.x / 2] = 0;", "out[threadIdx.x / 2]", None),
        ("out[threadIdx.x * threadIdx.x] = 0;", "out[threadIdx.x * threadIdx.x]", None),
        ("constexpr int kTile = TILE; out[threadIdx.x * kTile + 1] = 0;", "out[threadIdx.x * kTile + 1]", "TILE"),
        ("__shared__ float t[32][33]; t[threadIdx.x][0] = 0;", "t[threadIdx.x][0]", None),
        ("int i = threadIdx.x; while (i < n) { out[i * 4] = 0; i += 32; }", "out[i * 4]", "4"),
        ("for (int j = 0; j < n; ++j) out[j * m + min(j, n)] = 0;", "out[j * m + min(j, n)]", "0"),
    ],
)
def test_the_distance_is_told_where_the_text_tells_it(body: str, access: str, elements: str | None):
    assert apart(body, ("TILE",))[access] == elements


def test_depth_and_line_say_how_hot_an_access_is():
    loops = "for (int i = 0; i < n; ++i)\n  for (int j = 0; j < m; ++j)\n    s += in[i * m + j];"
    body = f"float s = in[0];\n{loops}\nout[threadIdx.x] = s;"
    found = lane_accesses(parse_kernel(f"{HEAD}{body}\n}}\n", Language.CUDA, "k"))
    assert [(a.line, a.depth, a.is_written) for a in found] == [(2, 0, False), (5, 2, False), (6, 0, True)]


@pytest.mark.parametrize("head", ["#pragma unroll\n  for (int j = 0; j < m; ++j)", "for (int j = 0; j < 8; ++j)"])
def test_a_loop_that_is_unrolled_or_short_makes_nothing_hotter(head: str):
    body = f"float s = 0;\nfor (int i = 0; i < n; ++i) {{\n  s += in[i];\n  {head}\n    s += in[j];\n}}\nout[0] = s;"
    found = lane_accesses(parse_kernel(f"{HEAD}{body}\n}}\n", Language.CUDA, "k"))
    assert {access.text: access.depth for access in found} == {"in[i]": 1, "in[j]": 1, "out[0]": 0}


def test_a_threads_own_array_is_no_memory():
    assert apart("float own[4]; own[n] = 0; out[threadIdx.x] = own[m];").keys() == {"out[threadIdx.x]"}
