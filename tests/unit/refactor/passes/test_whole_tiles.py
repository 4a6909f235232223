"""`whole_tiles`: which checks are asked once beforehand, and which loops are written twice."""

import pytest
from pass_subjects import applied, bundled, declined, small, squeezed

from warpsmith.refactor.base import Rewrite, Subject
from warpsmith.refactor.passes.direct_reads import DirectReads
from warpsmith.refactor.passes.unroll import Unroll
from warpsmith.refactor.passes.whole_tiles import WholeTiles

KERNEL = """
__global__ void k(float* out, const float* x, int n) {{
  const int first = blockIdx.x * 64;
  float sums[4];
  for (int j = 0; j < 4; ++j) {{
    const int col = first + threadIdx.x * 4 + j;
    {step}
  }}
}}
"""


def made(step: str) -> str:
    return squeezed(applied(WholeTiles(), small(KERNEL.format(step=step), block=("16",))).variant.text)


@pytest.mark.parametrize(
    ("step", "condition", "unchecked"),
    [
        ("if (col < n) out[col] = x[col];", "first + 15 * 4 + 3 < n", "out[col] = x[col];"),
        ("sums[j] = col < n && 0 <= col ? x[col] : 0.0f;", "first + 15 * 4 + 3 < n && 0 <= first", "sums[j] = x[col];"),
        ("if (n > col) { sums[j] = 1; } else { sums[j] = 2; }", "first + 15 * 4 + 3 < n", "{ sums[j] = 1; }"),
        ("const bool in = col < n; sums[j] = in ? x[col] : 0;", "first + 15 * 4 + 3 < n", "sums[j] = x[col];"),
        ("if (x[j] > 0 && col < n) out[col] = 1;", "first + 15 * 4 + 3 < n", "if (x[j] > 0) out[col] = 1;"),
        ("if (col >= n) break; out[col] = 1;", "first + 15 * 4 + 3 < n", "threadIdx.x * 4 + j; out[col] = 1;"),
        ("if (0 > col || col > n) { continue; } out[col] = 1;", "0 <= first && first + 15 * 4 + 3 <= n", "+ j; out[col] = 1;"),
        ("if (col < n) if (col - 1 >= 0) out[col] = 1;", "first + 15 * 4 + 3 < n && 0 <= first - 1", "out[col] = 1;"),
    ],
)
def test_checks_are_asked_beforehand(step, condition, unchecked):
    text = made(step)
    begin, rest = text.split(f"if ({condition}) {{ for (int j = 0; j < 4; ++j) {{ const int col", 1)
    assert begin.endswith("#if WHOLE // Where all of it lies inside, no step needs to look. ")
    assert unchecked in rest.split("} else {")[0] if "else { sums" not in step else unchecked in rest
    assert text.count(squeezed(step)) == 2  # where the tile sticks out, and as it was


@pytest.mark.parametrize(
    "step",
    [
        "if (col != n) out[col] = 1;",
        "if (x[col] < n) out[col] = 1;",
        "if (threadIdx.x + j < 12) out[col] = 1;",  # about the tile's own size, not about an edge
        "if (threadIdx.x + j - n < 5) out[col] = 1;",  # unsigned: a negative number would be a large one
        "if (col < n || j > 2) out[col] = 1;",
        "n -= 1; if (col < n) out[col] = 1;",
        "if (col < n) out[col] = 1; __syncthreads();",
        "if (col >= n && j > 2) break; out[col] = 1;",
    ],
)
def test_what_stays(step):
    assert "no loop has a bounds check of a tile's elements in each iteration" in declined(
        WholeTiles(), small(KERNEL.format(step=step), block=("16",))
    )


def test_a_loop_from_tile_to_tile_is_not_what_is_asked_about():
    text = squeezed(applied(WholeTiles(), bundled("matmul")).variant.text)
    assert "first_k + (kTileK * kTileN / 4 - 1) / (kTileN / 4) < k && first_col + (kTileN / 4 - 1) * 4 < n" in text
    assert text.count("for (int first_k") == 1


def test_a_tile_with_a_border_is_asked_about_both_ends():
    text = squeezed(applied(WholeTiles(), bundled("conv2d")).variant.text)
    lines = "first_y + kTileY + 2 - 1 <= height"
    assert f"if (0 <= first_y + static_cast<int>(threadIdx.y) - 1 && {lines} && 0 <= first_x - 1 &&" in text


def test_a_thread_s_own_rows_and_variables_that_change_later():
    text = squeezed(applied(WholeTiles(), bundled("transpose")).variant.text)
    own = "* kTile + static_cast<int>(threadIdx.y) + (kTile - 1) / kRows * kRows"
    assert f"* kTile + 31 < cols && static_cast<int>(blockIdx.y) {own} < rows) {{" in text
    assert f"* kTile + 31 < rows && static_cast<int>(blockIdx.x) {own} < cols) {{" in text


def test_what_lies_outside_is_not_computed():
    """Also where the loop itself has no checks, as here, where both tiles are filled up with zeros."""
    text = squeezed(applied(WholeTiles(), bundled("matmul")).variant.text)
    row = "first_row + static_cast<int>(threadIdx.y) * kThreadM"
    assert (
        f"#if WHOLE // Where all of it lies inside, no step needs to look. if ({row} + kThreadM <= m) {{ #pragma unroll" in text
    )
    _, edge = text.split("only those that somebody stores.", 1)
    assert edge.startswith(
        f" #pragma unroll for (int i = 0; i < kThreadM; ++i) {{ if ({row} + i < m) {{ #pragma unroll 1 for (int depth"
    )
    row_at_once = "for (int j = 0; j < kThreadN; ++j) sums[i][j] += from_a[i] * from_b[j];"
    assert edge.split("#else")[0].count(row_at_once) == 1


def test_a_thread_all_of_whose_rows_exist_does_them_together():
    """Where only the depth ends: one after the other, a row of few elements would wait for each of its own additions."""
    subject = bundled("matmul")
    direct = Subject(subject.kernel, subject.limits, applied(DirectReads(), subject).alternatives[1])
    text = squeezed(applied(WholeTiles(), direct).variant.text)
    row = "first_row + static_cast<int>(threadIdx.y) * kThreadM"
    _, edge = text.split(f"}} else {{ if ({row} + kThreadM <= m) {{ #pragma unroll 1 for (int depth", 1)
    together, rows = edge.split("// Some of it lies outside", 1)
    assert "first_k < k ? (a_tile_source + " in together  # with its checks
    assert f"if ({row} + i < m) {{ #pragma unroll 1 for (int depth" in rows


def test_what_is_asked_of_a_row_is_asked_once():
    text = squeezed(applied(WholeTiles(), bundled("convolution_opencl")).variant.text)
    _, edge = text.split("} else { for (int i = y; i < TILE_Y + FILTER - 1; i += BLOCK_Y) {", 1)
    asked, other = edge.split("#else")[0].split("} else {")
    assert asked.startswith(" if (first_y + i < height + FILTER - 1) { for (int j = x;")
    assert "tile[i][j] = inside ? input[" in asked
    assert "tile[i][j] = 0.0f;" in other


def test_rows_of_which_less_than_half_is_stored_go_element_by_element():
    text = squeezed(applied(WholeTiles(), bundled("convolution_opencl")).variant.text)
    _, edge = text.split("if (first_x + (PIXELS_X / 2) * BLOCK_X + 0 < width) {", 1)
    rows, elements, *_ = edge.split("} else {")
    assert "first_x + q" not in rows
    assert "for (int q = 0; q < PIXELS_X; ++q) sums[p][q] +=" in rows
    assert "first_x + q * BLOCK_X < width) { #pragma unroll 1" in elements  # for all lanes, if for one


def test_loops_without_braces_go_element_by_element_too():
    kernel = """
__global__ void k(float* out, const float* x, int n, int m) {
  const int row = blockIdx.y * 8 + threadIdx.y, col = blockIdx.x * 32 + threadIdx.x;
  float sums[2][2] = {};
  for (int d = 0; d < 4; ++d)
    for (int p = 0; p < 2; ++p)
      for (int q = 0; q < 2; ++q) sums[p][q] += x[d];
  for (int p = 0; p < 2; ++p)
    for (int q = 0; q < 2; ++q) {
      if (row + p * 4 < m && col + q * 16 < n) out[(row + p * 4) * n + col + q * 16] = sums[p][q];
    }
}
"""
    text = squeezed(applied(WholeTiles(), small(kernel, block=("16", "4"), scalars={"n": "n", "m": "rows"})).variant.text)
    assert text.count("{ #pragma unroll 1 for (int d = 0; d < 4; ++d) for (int q = 0; q < 2; ++q) sums[p][q] += x[d]; }") == 1
    assert text.count("{ #pragma unroll 1 for (int d = 0; d < 4; ++d) sums[p][q] += x[d]; }") == 1


def test_rows_outside_are_not_computed_where_elements_depend_on_each_other():
    step = "for (int j = 0; j < 4; ++j) sums[j] += sums[0] + x[j];"
    store = "for (int j = 0; j < 4; ++j) { if (row + j < n) out[row + j] = sums[j]; }"
    kernel = f"""
__global__ void k(float* out, const float* x, int n) {{
  const int row = threadIdx.y * 4;
  float sums[4] = {{}};
  {step}
  {store}
}}
"""
    text = squeezed(applied(WholeTiles(), small(kernel, block=("16", "4"))).variant.text)
    needed = "if (static_cast<int>(threadIdx.y) * 4 < n) {"
    assert f"// Where all of it lies outside, nobody stores what comes out. {needed} {step} }}" in text


def test_opencl_and_pragmas_of_the_unrolling():
    subject = bundled("matmul_opencl")
    unrolled = Subject(subject.kernel, subject.limits, applied(Unroll(), subject).variant)
    text = squeezed(applied(WholeTiles(), unrolled).variant.text)
    assert "if (first_row + TILE_M <= m && first_k + TILE_K <= k) {" in text


def test_branches_of_its_own():
    text = KERNEL.format(step="\n#if FAST\nout[col] = 1;\n#endif\nif (col < n) out[col] = 2;")
    assert "#if branches" in declined(WholeTiles(), small(text, block=("16",)))


LANES = """
__global__ void k(float* out, const float* x, int n, int m) {{
  for (int i = 0; i < 2; ++i) {{
    const int row = blockIdx.y * 2 + i;
    for (int j = 0; j < 4; ++j) {{
      {step}
    }}
  }}
}}
"""
COL = "const int col = blockIdx.x * 64 + j * 16 + threadIdx.x;"
FIRST = "(static_cast<int>(blockIdx.x) * 64 + j * 16)"


@pytest.mark.parametrize(
    ("step", "unchecked"),
    [
        (f"{COL} if (col < n) out[row * n + col] = 1;", f"(out + row * n + {FIRST})[threadIdx.x] = 1;"),
        (f"{COL} if (col < n) out[(long)row * n + col] = x[m * row + col];", f"= (x + m * row + {FIRST})[threadIdx.x];"),
        ("const int col = threadIdx.x; if (col < n) out[row * n + col] = 1;", "(out + row * n)[threadIdx.x] = 1;"),
    ],
)
def test_where_a_row_begins_is_kept_apart_from_the_lanes(step, unchecked):
    text = squeezed(applied(WholeTiles(), small(LANES.format(step=step), block=("16",))).variant.text)
    assert text.count(unchecked) == 1


@pytest.mark.parametrize(
    "step",
    [
        "const int col = blockIdx.x * 64 + threadIdx.x * 4 + j; if (col < n) out[row * n + col] = 1;",  # a lane's own neighbours
        f"{COL} for (int j = 0; j < 2; ++j) {{ if (col < n) out[row * n + col] = j; }}",  # another j
        f"int f = n; while (m > f) f += m; {COL.replace('64', '64 + f')} f = 0; if (col < n) out[row * n + col] = 1;",
        "const unsigned col = threadIdx.x - 1; if (col < n) out[row * n + col] = 1;",  # comes round again from below 0
        f"{COL} if (out[row * n + col] > 0 && col < n) x[0];",  # in what is left of a check
    ],
)
def test_sums_that_stay_as_they_are(step):
    answer = WholeTiles().apply(small(LANES.format(step=step), block=("16",)))
    assert not isinstance(answer, Rewrite) or "(out +" not in answer.variant.text
