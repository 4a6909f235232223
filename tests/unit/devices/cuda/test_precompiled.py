"""Which headers may be parsed ahead of a source: those that nothing before them can change."""

from __future__ import annotations

import pytest

from warpsmith.devices.cuda.precompiled import heavy_headers

PARAMETER = "#ifndef BLOCK\n#define BLOCK 64\n#endif\n"


@pytest.mark.parametrize(
    ("source", "headers"),
    [
        ("#include <cooperative_groups.h>\n__global__ void k() {}", ("cooperative_groups.h",)),
        (
            f"{PARAMETER}#include <cub/block/block_scan.cuh>\n#include <cuda/std/array>\n",
            ("cub/block/block_scan.cuh", "cuda/std/array"),
        ),
        ("#include <cuda_fp16.h>\n", ()),
        ('#include "cub/mine.cuh"\n', ()),
        ("#define CUB_STDERR\n#include <cub/block/block_scan.cuh>\n", ()),
        ("#include <cuda/atomic>\n#define N 4\n#include <cub/block/block_scan.cuh>\n", ("cuda/atomic",)),
        ("#if N > 4\n#include <cuda/atomic>\n#endif\n", ()),
        ("#ifndef N\n#define N 4\n#define M 5\n#endif\n#include <cuda/atomic>\n", ()),
        ("// #include <cuda/atomic>\n", ()),
    ],
)
def test_which(source: str, headers: tuple[str, ...]) -> None:
    assert heavy_headers(source) == headers
