"""Which loops work on elements that are independent, and which of these somebody stores."""

import pytest

from warpsmith.core.hardware import Language
from warpsmith.source import Names, loops_of, parse_kernel
from warpsmith.source.own_elements import OwnElements, own_elements

KERNEL = """
__global__ void k(float* out, const float* x, int m, int n) {{
  const int row = blockIdx.y * 64 + threadIdx.y * 4;
  const int col = blockIdx.x * 16 + threadIdx.x;
  float sums[4][2] = {{}};
  float other = 0;
  for (int t = 0; t < n; t += 8) {{
    for (int d = 0; d < 8; ++d) {{ {work} }}
    __syncthreads();
    {after}
  }}
  for (int r = 0; r < 4; ++r) {{
    for (int c = 0; c < 2; ++c) {{ {store} }}
  }}
}}
"""
SUM = "const float v = x[t + d]; for (int i = 0; i < 4; ++i) { for (int j = 0; j < 2; ++j) sums[i][j] += v * x[i]; }"
STORE = "if (row + r < m && col + 16 * c < n) out[(row + r) * n + col + 16 * c] = sums[r][c];"


def found(work: str = SUM, store: str = STORE, after: str = "") -> OwnElements | None:
    names = Names(parse_kernel(KERNEL.format(work=work, store=store, after=after), Language.CUDA, "k"), [])
    loop = next(loop for loop in loops_of(names.source.body, names) if loop.variable == "d")
    return own_elements(loop, names, {"blockDim.x": "16", "blockDim.y": "16", "blockDim.z": "1"})


def test_the_check_is_said_of_the_element_that_the_loops_count():
    elements = found()
    assert elements is not None
    assert [counter.variable for counter in elements.counters] == ["i", "j"]
    assert elements.stored == (
        "static_cast<int>(blockIdx.y) * 64 + static_cast<int>(threadIdx.y) * 4 + i < m",
        "static_cast<int>(blockIdx.x) * 16 + static_cast<int>(threadIdx.x) + 16 * j < n",
    )
    assert elements.is_rolled


@pytest.mark.parametrize(
    ("check", "for_some"),
    [
        ("col + 16 * c < n", "static_cast<int>(blockIdx.x) * 16 + 16 * j < n"),
        ("n >= col + 16 * c", "n >= static_cast<int>(blockIdx.x) * 16 + 16 * j"),
        ("16 * c - col < n", "16 * j - (static_cast<int>(blockIdx.x) * 16 + 15) < n"),  # the last thread's is the smallest
        ("col + 16 * c > n", "static_cast<int>(blockIdx.x) * 16 + 15 + 16 * j > n"),
    ],
)
def test_what_must_hold_for_some_lane_to_have_its_element_stored(check: str, for_some: str):
    elements = found(store=STORE.replace("col + 16 * c < n", check))
    assert elements is not None
    rows = "static_cast<int>(blockIdx.y) * 64 + static_cast<int>(threadIdx.y) * 4 + i < m"
    assert elements.for_some == (rows, for_some)


def test_what_is_worked_out_for_all_elements_is_worked_out_for_each():
    work = "float a[4]; for (int i = 0; i < 4; ++i) a[i] = x[i + d]; " + SUM.replace("x[i]", "a[i]")
    assert found(work) is not None


@pytest.mark.parametrize(
    "work",
    [
        SUM.replace("sums[i][j] +=", "sums[i][j] += sums[0][j] +"),  # another element's sum
        SUM.replace("[j]", "[j / 2]"),
        SUM.replace("i < 4", "i < m"),  # its range is not the same wherever it is asked
        SUM.replace("const float v = x[t + d];", "float v = 0;").replace("sums[i][j]", "v += 1; sums[i][j]"),  # goes on
        SUM + " other += v;",
        SUM.replace("sums[i][j] +=", "if (x[i] < 0) continue; else sums[i][j] +="),
        SUM + SUM.replace("const float v", "const float w").replace(" v ", " w "),  # two loops: which comes first matters
    ],
)
def test_elements_that_depend_on_more_than_themselves(work: str):
    assert found(work) is None


@pytest.mark.parametrize(
    "store",
    [
        "out[(row + r) * n + col] = sums[r][c];",
        "if (row + r < m) out[r] = sums[r][0];",
        "if (row + r < m) out[r] = sums[r][c]; out[c] += sums[0][c];",
    ],
)
def test_elements_that_may_be_read_without_a_check(store: str):
    assert found(store=store) is None


def test_a_check_that_changes_from_step_to_step():
    """It lets through at one step what was left out at another."""
    assert found(after="for (int r = 0; r < 4; ++r) if (row + r - t < m) out[r] = sums[r][0];", store="") is None
