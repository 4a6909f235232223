from __future__ import annotations

import pytest
from pass_subjects import applied, bundled, declined, small

from warpsmith.core.hardware import Language
from warpsmith.refactor.passes.block_size import BlockSize
from warpsmith.refactor.passes.grid_blocks import GridBlocks

_STRIDED = "  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = x[i];"


def _kernel(body: str) -> str:
    return f"__global__ void k(float* out, const float* x, int n) {{\n{body}\n}}\n"


def test_a_cap_on_blocks_with_a_place_for_each_is_only_lowered():
    made = applied(GridBlocks(), bundled("reduction")).variant
    assert made.grid == ("min(ceildiv(n, 1024), BLOCKS)",)
    assert made.tunables[0].values == (16, 64, 256, 1024)
    assert made.text == bundled("reduction").variant.text


def test_a_fixed_number_of_blocks_may_also_grow():
    made = applied(GridBlocks(), small(_kernel(_STRIDED), grid=("32",))).variant
    assert made.grid == ("BLOCKS",)
    assert made.tunables[0].values == (8, 32, 128)


def test_of_as_many_blocks_as_the_launch_computes_a_part_will_do():
    found = applied(GridBlocks(), small(_kernel(_STRIDED), grid=("rows", "2"))).variant
    assert found.grid == ("ceildiv(rows, GRID_PART)", "2")
    (part,) = found.tunables
    assert (part.default, part.values) == (1, (1, 2, 4, 8, 16))
    assert part.assumes.startswith("results do not depend on the number of blocks: the loop at line")


def test_it_goes_with_the_size_of_the_block():
    subject = bundled("reduction")
    first = applied(GridBlocks(), subject).variant
    both = applied(BlockSize(), type(subject)(subject.kernel, subject.limits, first)).variant
    assert both.grid == ("min(ceildiv(n, BLOCK * 4), BLOCKS)",)


@pytest.mark.parametrize(
    ("body", "grid", "reason"),
    [
        (_STRIDED.replace("gridDim.x", "4"), "rows", "grid.x = rows is not a literal number"),
        (_STRIDED, "ceildiv(rows, 16)", "only 4 blocks"),
        (_STRIDED, "2", "only 2 blocks"),
        (
            "  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = x[i];",
            "32",
            "the kernel has no grid-stride loop along x",
        ),
        (_STRIDED + "\n  out[blockIdx.x] = 1.0f;", "32", "a block index is used for more than the start of a grid-stride loop"),
        (_STRIDED + "\n  if (threadIdx.x == 0) out[0] = x[0] / gridDim.x;", "32", "gridDim.x: it is used in arithmetic on data"),
    ],
)
def test_what_depends_on_the_number_of_blocks_is_left_alone(body: str, grid: str, reason: str):
    assert reason in declined(GridBlocks(), small(_kernel(body), grid=(grid,)))


def _opencl(more: str = ""):
    loop = "  for (int i = get_global_id(0); i < n; i += get_global_size(0)) out[i] = x[i];"
    text = f"__kernel void k(__global float* out, __global const float* x, int n) {{\n{loop}\n{more}\n}}\n"
    return small(text, grid=("32",), block=("256",), language=Language.OPENCL)


def test_opencl_counts_the_threads_of_the_grid():
    assert applied(GridBlocks(), _opencl()).variant.grid == ("BLOCKS",)
    assert applied(BlockSize(), _opencl()).variant.block == ("BLOCK",)


@pytest.mark.parametrize("tried", [GridBlocks(), BlockSize()])
def test_opencl_threads_of_the_grid_in_the_result(tried):
    more = "  if (get_local_id(0) == 0) out[0] = x[0] / get_global_size(0);"
    assert "used in arithmetic on data" in declined(tried, _opencl(more))
