"""The spaces on which the construction of search spaces is compared, with their sizes before and after the constraints.

Five of real kernels, as used in the published comparison of Kernel Tuner's constructor with others (Willemsen et al.): values and
constraints are theirs. The sixth is ours: 10^12 combinations with one constraint over all parameters.
The texts mean the same to Kernel Tuner, to Python and to us: every quotient in them is a whole number.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod


@dataclass(frozen=True, slots=True)
class SearchSpace:
    name: str
    values: dict[str, list[int]]
    constraints: list[str]
    feasible: int
    default: dict[str, int] = field(default_factory=dict)  # a feasible configuration, where it is not the first values

    @property
    def combinations(self) -> int:
        return prod(len(values) for values in self.values.values())


def _up_to(last: int) -> list[int]:
    return list(range(1, last + 1))


def _powers(first: int, last: int) -> list[int]:
    return [2**exponent for exponent in range(first, last + 1)]


_FLAG = [0, 1]

DEDISPERSION = SearchSpace(
    "dedispersion",
    {
        "block_size_x": _powers(0, 5),
        "block_size_y": list(range(32, 257, 8)),
        "block_size_z": [1],
        "tile_size_x": _up_to(4),
        "tile_size_y": _up_to(8),
        "tile_stride_x": _FLAG,
        "tile_stride_y": _FLAG,
        "loop_unroll_factor_channel": [0],
    },
    [
        "32 <= block_size_x * block_size_y <= 1024",
        "tile_size_x > 1 or tile_stride_x == 0",
        "tile_size_y > 1 or tile_stride_y == 0",
    ],
    11_130,
)

GEMM = SearchSpace(
    "gemm",
    {
        "MWG": _powers(4, 7),
        "NWG": _powers(4, 7),
        "KWG": [16, 32],
        "MDIMC": _powers(3, 5),
        "NDIMC": _powers(3, 5),
        "MDIMA": _powers(3, 5),
        "NDIMB": _powers(3, 5),
        "KWI": [2],
        "VWM": _powers(0, 3),
        "VWN": _powers(0, 3),
        "STRM": _FLAG,
        "STRN": _FLAG,
        "SA": _FLAG,
        "SB": _FLAG,
        "PRECISION": [32],
    },
    [
        "KWG % KWI == 0",
        "MWG % (MDIMC * VWM) == 0",
        "NWG % (NDIMC * VWN) == 0",
        "MWG % (MDIMA * VWM) == 0",
        "NWG % (NDIMB * VWN) == 0",
        "KWG % ((MDIMC * NDIMC) / MDIMA) == 0",
        "KWG % ((MDIMC * NDIMC) / NDIMB) == 0",
        "not (MWG == 128 and NWG == 128 and MDIMC == 8 and NDIMC == 8)",
    ],
    116_928,
)

MICROHH = SearchSpace(
    "microhh",
    {
        "BLOCK_SIZE_X": [1, 2, 4, 8, 16, 32, 128, 256, 512, 1024],
        "BLOCK_SIZE_Y": _powers(0, 5),
        "BLOCK_SIZE_Z": _powers(0, 2),
        "STATIC_STRIDES": [0],
        "TILING_FACTOR_X": _powers(0, 3),
        "TILING_FACTOR_Y": _powers(0, 2),
        "TILING_FACTOR_Z": _powers(0, 2),
        "TILING_STRATEGY": [0],
        "REWRITE_INTERP": [0],
        "BLOCKS_PER_MP": list(range(5)),
        "LOOP_UNROLL_FACTOR_X": _powers(0, 3),
        "LOOP_UNROLL_FACTOR_Y": _powers(0, 2),
        "LOOP_UNROLL_FACTOR_Z": _powers(0, 2),
    },
    [
        "BLOCK_SIZE_X * BLOCK_SIZE_Y * BLOCK_SIZE_Z * BLOCKS_PER_MP <= 1024",
        "32 <= BLOCK_SIZE_X * BLOCK_SIZE_Y * BLOCK_SIZE_Z <= 1536",
        *(f"LOOP_UNROLL_FACTOR_{axis} == 0 or TILING_FACTOR_{axis} % LOOP_UNROLL_FACTOR_{axis} == 0" for axis in "XYZ"),
        *(f"BLOCK_SIZE_{axis} * TILING_FACTOR_{axis} > 0" for axis in "XYZ"),
    ],
    138_600,
    {"BLOCK_SIZE_X": 32},
)

_TILE = (
    "(block_size_x * tile_size_x + temporal_tiling_factor * 2)"
    " * (block_size_y * tile_size_y + temporal_tiling_factor * 2) * (2 + sh_power) * 4"
)
HOTSPOT = SearchSpace(
    "hotspot",
    {
        "grid_width": [4096],
        "grid_height": [4096],
        "block_size_x": [*_powers(0, 4), *range(32, 1025, 32)],
        "block_size_y": _powers(0, 5),
        "tile_size_x": _up_to(10),
        "tile_size_y": _up_to(10),
        "temporal_tiling_factor": _up_to(10),
        "max_tfactor": [10],
        "loop_unroll_factor_t": _up_to(10),
        "sh_power": _FLAG,
        "blocks_per_sm": list(range(5)),
    },
    [
        "block_size_x * block_size_y >= 32",
        "temporal_tiling_factor % loop_unroll_factor_t == 0",
        "block_size_x * block_size_y <= 1024",
        f"{_TILE} <= 49152",
        f"blocks_per_sm == 0 or ({_TILE}) * blocks_per_sm <= 102400",
    ],
    349_853,
    {"block_size_x": 32},
)

EXPDIST = SearchSpace(
    "expdist",
    {
        "block_size_x": _powers(5, 10)[::-1],
        "block_size_y": _powers(0, 5),
        "tile_size_x": _up_to(8),
        "tile_size_y": _up_to(8),
        "use_shared_mem": [0, 1, 2],
        "loop_unroll_factor_x": _up_to(8),
        "loop_unroll_factor_y": _up_to(8),
        "use_column": _FLAG,
        "use_separate_acc": [0],
        "n_y_blocks": _powers(0, 10),
    },
    [
        "use_column != 0 or n_y_blocks <= 1",
        "use_column != 0 or use_shared_mem != 2",
        "loop_unroll_factor_x <= tile_size_x and tile_size_x % loop_unroll_factor_x == 0",
        "loop_unroll_factor_y <= tile_size_y and tile_size_y % loop_unroll_factor_y == 0",
    ],
    504_000,
)

PUBLISHED = (DEDISPERSION, GEMM, MICROHH, HOTSPOT, EXPDIST)

# Sums of twelve digits, at most 54 of the possible 108: by symmetry half of all sums, and half of those that are exactly 54.
HUGE = SearchSpace(
    "10^12",
    {f"P{i}": list(range(10)) for i in range(12)},
    [" + ".join(f"P{i}" for i in range(12)) + " <= 54"],
    (10**12 + 39_581_170_420) // 2,
)
