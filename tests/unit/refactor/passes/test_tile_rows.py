"""`tile_rows`: when it does not matter who fills a tile, and how it is filled row by row."""

import pytest
from pass_subjects import applied, bundled, declined, small, squeezed

from warpsmith.refactor.passes.tile_rows import TileRows

KERNEL = """
__global__ void k(float* out, const float* x, int n) {{
  __shared__ float tile[8][36];
  for (int t = 0; t < n; t += 8) {{
    {fill}
    __syncthreads();
    out[t] = tile[threadIdx.y][threadIdx.x];
    {end}
  }}
}}
"""
ROWS = "for (int i = threadIdx.y; i < 8; i += 4) { "
COLS = "for (int j = threadIdx.x; j < 36; j += 32) tile[i][j] = x[(t + i) * n + j]; }"
FLAT = "for (int i = threadIdx.y * 32 + threadIdx.x; i < 288; i += 128) tile[i / 36][i % 36] = x[(t + i / 36) * n + i % 36];"


def subject(fill: str, end: str = "__syncthreads();"):
    return small(KERNEL.format(fill=fill, end=end), block=("32", "4"))


@pytest.mark.parametrize("fill", [ROWS + COLS, FLAT])
def test_rows_along_y_and_columns_along_x(fill):
    text = squeezed(applied(TileRows(), subject(fill)).alternatives[1].text)
    assert "const auto* tile_source = x + static_cast<long long>(n) * t; const int across = 32;" in text
    assert "for (int tile_row = static_cast<int>(threadIdx.y); tile_row < 8; tile_row += 4) { #pragma unroll" in text
    assert "for (int step = 0; step < 36 / across; ++step) {" in text
    filled = "tile[tile_row][tile_column] = (tile_source + static_cast<long long>(tile_row) * n)[tile_column];"
    assert text.count(filled) == 2
    assert "for (int j" not in text


def test_vectors_and_transposed_tiles():
    text = squeezed(applied(TileRows(), bundled("matmul")).alternatives[1].text)
    assert "float4" not in text
    assert "a_tile[tile_column][tile_row] =" in text  # along x runs what lies together in the buffer
    assert "b_tile[tile_row_2][tile_column_2] =" in text


@pytest.mark.parametrize(
    ("fill", "end", "reason"),
    [
        (ROWS + COLS, "", "no barrier"),  # the next tile may be filled while this one is read
        (ROWS + COLS.replace("36;", "32;"), "__syncthreads();", "32"),
        (ROWS.replace("+= 4", "+= 8") + COLS, "__syncthreads();", "does not distribute"),
        ("if (threadIdx.y > n) return; " + ROWS + COLS, "__syncthreads();", "cannot prove that all threads"),
        (FLAT.replace("288", "280"), "__syncthreads();", "280"),
        (FLAT.replace("i % 36]", "i % 18 * 2]"), "__syncthreads();", "not every element"),
        (FLAT.replace("i % 36]", "i % 36 * 4294967296ll]"), "__syncthreads();", "not every element"),  # counted, not listed
        ("if (n > 3) { " + ROWS + COLS + " }", "__syncthreads();", "keeps stale values"),
        ("tile[threadIdx.y][threadIdx.x] = x[t * n + threadIdx.x];", "__syncthreads();", "4"),
    ],
)
def test_what_is_not_dealt_out_anew(fill, end, reason):
    assert reason in declined(TileRows(), subject(fill, end))


def test_no_tiles():
    assert "no shared array" in declined(TileRows(), bundled("silu_and_mul"))
