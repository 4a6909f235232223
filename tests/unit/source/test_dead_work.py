"""Which loops a thread may leave out because nobody stores what they compute."""

import pytest

from warpsmith.core.hardware import Language
from warpsmith.source import Names, loops_of, parse_kernel
from warpsmith.source.dead_work import needed

KERNEL = """
__global__ void k(float* out, const float* x, int m, int n) {{
  __shared__ float tile[32];
  const int row = blockIdx.y * 64 + threadIdx.y * 4;
  const int col = blockIdx.x * 16 + threadIdx.x;
  float sums[4] = {{}};
  float* where = out;
  for (int t = 0; t < n; t += 8) {{
    {before}
    for (int d = 0; d < 8; ++d) {{ {work} }}
    __syncthreads();
    {after}
  }}
  for (int i = 0; i < 4; ++i) {store}
}}
"""
SUM = "for (int i = 0; i < 4; ++i) sums[i] += x[t + d];"
STORE = "if (row + i < m && col < n) out[(row + i) * n + col] = sums[i];"


def found(work: str = SUM, store: str = STORE, before: str = "", after: str = "") -> list[str]:
    text = KERNEL.format(work=work, store=store, before=before, after=after)
    names = Names(parse_kernel(text, Language.CUDA, "k"), [])
    loop = next(loop for loop in loops_of(names.source.body, names) if loop.variable == "d")
    return needed(loop, names, {"blockDim.x": "16", "blockDim.y": "16", "blockDim.z": "1"})


EASIEST = "static_cast<int>(blockIdx.y) * 64 + static_cast<int>(threadIdx.y) * 4 < m"


@pytest.mark.parametrize(
    ("work", "store"),
    [
        (SUM, STORE),
        ("const float v = x[d]; sums[0] = max(sums[0], v);", STORE),
        (SUM, "{ const bool inside = row + i < m; if (inside) { out[row] = 2 * sums[i]; } }"),
        (SUM, "{ if (m > row + i) out[row + i] = sums[i] + sums[0]; else out[0] = 0; }"),
    ],
)
def test_results_that_are_read_under_a_check(work: str, store: str):
    assert found(work, store) == [EASIEST]


def test_a_first_value_is_no_read():
    assert found(before="if (t == 0) sums[1] = 0.0f;") == [EASIEST]


@pytest.mark.parametrize(
    ("work", "store"),
    [
        (SUM, "out[row + i] = sums[i];"),
        (SUM, "{ if (row + i < m) out[row + i] = sums[i]; else out[0] = sums[i]; }"),
        (SUM, "{ if (row + i < m || col < n) out[row + i] = sums[i]; }"),
        (SUM, "{ if (row + i < m) out[row + i] = sums[i]; out[i] += sums[0]; }"),
        (SUM, "{ if (col < n) out[col] = sums[i]; }"),  # lanes of one vector: all or nothing
        (SUM + " tile[d] = 1.0f;", STORE),
        (SUM + " out[d] = 1.0f;", STORE),
        (SUM + " where[d] = 1.0f;", STORE),
        (SUM + " *where = 1.0f;", STORE),
        (SUM + " auto to = out + d; to[0] = 1.0f;", STORE),
        (SUM + " atomicAdd(out, 1.0f);", STORE),
        (SUM + " unknown(sums);", STORE),
        (SUM + " if (x[d] < 0) return;", STORE),
        ("m = sums[0] += 1;", STORE),
    ],
)
def test_work_that_others_see(work: str, store: str):
    assert found(work, store) == []


def test_what_a_later_step_stores():
    """The check lets through at one step what was left out at another."""
    assert found(after="if (row - t < m) out[row] = sums[0];", store="{}") == []
    assert found(after="const int r = row - t; if (r < m) out[row] = sums[0];", store="{}") == []
