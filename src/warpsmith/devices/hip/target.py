"""An AMD compile target, named as in AMD's tools (`gfx942`). Needs no GPU."""

from __future__ import annotations

import re
from dataclasses import dataclass

from warpsmith.core.errors import InputError
from warpsmith.core.hardware import Limits

_NAME = re.compile(r"gfx[0-9a-f]{3,4}")
_KIB = 1024
_MIB = 1024 * _KIB
MOST_BLOCKS_YZ = 65535  # what ROCm tells; some of its releases tell more


@dataclass(frozen=True, slots=True)
class HipTarget:
    """What a compute unit holds; on RDNA a workgroup processor, for there a block may use both of its halves.

    Sources: registers, granularities and waves are those of LLVM's AMDGPU back end, against whose remarks the occupancy is
    tested; the sizes of the LDS, the compute units and the caches those of the page "GPU hardware specifications" of ROCm's
    documentation. `compute_units` and `cache_bytes` are the named product's; others of the same architecture may have less.
    """

    name: str
    wave_size: int
    vector_registers: int  # of a SIMD, for each lane
    vector_granularity: int
    waves: int  # of a SIMD
    shared_bytes: int
    product: str
    compute_units: int
    cache_bytes: int  # of the last level: behind the L2 there may be an Infinity Cache, of which the runtime does not tell
    scalar_registers_limit: bool = False  # whether a wave's scalar registers can limit the number of waves
    blocks: int = 16  # of more than one wave: each needs a barrier
    simds: int = 4
    shared_bytes_per_block: int = 64 * _KIB
    shared_granularity: int = 512
    threads_per_block: int = 1024

    @property
    def max_waves(self) -> int:
        return self.waves * self.simds

    @property
    def limits(self) -> Limits:
        return Limits(
            max_threads_per_block=self.threads_per_block,
            max_block_x=1024,
            max_block_y=1024,
            max_block_z=1024,
            shared_bytes_per_block=self.shared_bytes_per_block,
            warp_size=self.wave_size,
            compute_units=self.compute_units,
            max_grid_y=MOST_BLOCKS_YZ,
            max_grid_z=MOST_BLOCKS_YZ,
        )


def _cdna(
    name: str, product: str, units: int, cache_mib: int, shared_bytes: int = 64 * _KIB, granularity: int = 512
) -> HipTarget:
    return HipTarget(
        name, 64, 512, 8, 8, shared_bytes, product, units, cache_mib * _MIB,
        scalar_registers_limit=True, shared_bytes_per_block=shared_bytes, shared_granularity=granularity,
    )  # fmt: skip


def _rdna(name: str, vector_registers: int, granularity: int, product: str, units: int, cache_mib: int) -> HipTarget:
    return HipTarget(name, 32, vector_registers, granularity, 16, 128 * _KIB, product, units, cache_mib * _MIB, blocks=32)


TARGETS: dict[str, HipTarget] = {
    target.name: target
    for target in (
        _cdna("gfx90a", "MI210", 104, 8),
        _cdna("gfx942", "MI300X", 304, 256),
        _cdna("gfx950", "MI355X", 256, 256, shared_bytes=160 * _KIB, granularity=1280),
        _rdna("gfx1030", 1024, 16, "Radeon RX 6900 XT", 80, 128),
        _rdna("gfx1100", 1536, 24, "Radeon RX 7900 XTX", 96, 96),
        _rdna("gfx1201", 1536, 24, "Radeon RX 9070 XT", 64, 64),
    )
}


def parse_target(text: str) -> HipTarget:
    """Raises InputError."""
    wanted = text.strip().lower()
    if wanted in TARGETS:
        return TARGETS[wanted]
    known = f"known are {', '.join(TARGETS)}"
    what = f"the limits of {wanted} are not known" if _NAME.fullmatch(wanted) else f"{text!r} is not an AMD target"
    raise InputError(what, hint=known)
