"""`shared_padding`: what is padding already, where it may be added, and what forbids it."""

import pytest
from pass_subjects import CPU_LIMITS, applied, bundled, declined, small, squeezed

from warpsmith.refactor.passes.shared_padding import SharedPadding

KERNEL = """
__global__ void k(float* out, const float* x, int n) {{
  __shared__ float tile[8][{columns}];
  tile[threadIdx.y][threadIdx.x] = x[threadIdx.y * n + threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = {read};
}}
"""
READ = "tile[7 - threadIdx.y][threadIdx.x]"


def subject(columns="32", read=READ):
    return small(KERNEL.format(columns=columns, read=read), block=("32", "8"))


def test_a_column_that_nobody_uses_is_the_parameter():
    variant = applied(SharedPadding(), subject("32 + 1")).variant
    assert "__shared__ float tile[8][32 + PAD];" in variant.text
    assert [(t.name, t.default, t.values) for t in variant.tunables] == [("PAD", 1, (0, 1, 4))]
    assert [rule.expression for rule in variant.rules] == ["32 * (PAD + 32) <= static_shared_bytes_per_block"]


def test_columns_that_are_used_are_not_padding():
    variant = applied(SharedPadding(), bundled("conv2d")).variant
    assert "tile[kTileY + 2][PADDED(kTileX + 2)];" in variant.text
    assert variant.tunables[0].default == 0


def test_an_array_without_padding_gets_a_macro_that_is_nothing_at_the_default():
    variant = applied(SharedPadding(), subject()).variant
    wanted = "#if PAD #define PADDED(columns) (columns) + PAD #else #define PADDED(columns) columns #endif"
    assert wanted in squeezed(variant.text)
    assert "tile[8][PADDED(32)];" in variant.text


def test_arrays_whose_addresses_are_taken_stay_as_they_are():
    text = applied(SharedPadding(), bundled("matmul")).variant.text
    assert "a_tile[kTileK][PADDED(kTileM)];" in text
    assert "b_tile[kTileK][kTileN];" in text


def test_the_bundled_transpose_has_padding():
    assert "tile[kTile][kTile + PAD];" in applied(SharedPadding(), bundled("transpose")).variant.text


@pytest.mark.parametrize(
    ("read", "reason"),
    [
        ("tile[0][threadIdx.y * 32 + threadIdx.x]", "cannot prove that indices of"),
        ("tile[0][n]", "cannot prove that indices of"),
        ("tile[0][threadIdx.x - 1]", "is unknown"),
        ("tile[0][static_cast<int>(x[0])]", "is unknown"),
        ("*tile[0]", "used as a whole, or by rows"),
        ("first(tile)", "used as a whole, or by rows"),
        ("first(&tile[0][0])", "address of an element"),
    ],
)
def test_what_depends_on_where_a_row_ends(read, reason):
    assert reason in declined(SharedPadding(), subject(read=read))


def test_no_array_of_two_dimensions():
    assert "the kernel has no two-dimensional shared array" in declined(SharedPadding(), bundled("softmax"))


def test_macros_may_hide_uses():
    hidden = "#define AT(i) (&tile[0][0])[i]\n" + KERNEL.format(columns="32", read="AT(5)")
    assert "a macro mentions tile" in declined(SharedPadding(), small(hidden, block=("32", "8")))


def test_a_cpu_has_no_banks():
    assert "has no banks" in declined(SharedPadding(), bundled("conv2d", CPU_LIMITS))
