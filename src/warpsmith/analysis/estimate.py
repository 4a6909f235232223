"""An estimate of a launch's time, from what was counted and data sheets: a closed form without a fitted constant.

A multiprocessor works on the blocks that it holds; what takes longest of issuing, its units, its memory pipes and one warp by
itself is how long that takes. Blocks come in waves, of which the last may be small; and all of it takes at least as long as the
bytes that must come from memory. An estimate is never a measurement: it orders configurations.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from warpsmith.analysis.catalogue import CatalogueGpu
from warpsmith.core.counted import Counted
from warpsmith.core.hardware import Geometry, Occupancy

_PARTITIONS = 4  # of a multiprocessor, each with units of its own
_SECTOR = 32
_SECOND_CACHE_BYTES = 64  # a cycle, to one multiprocessor
_PIPE = "smsp__inst_executed_pipe_{}.sum"
_SECTORS = "l1tex__t_sectors_pipe_lsu_mem_{}_op_{}.sum"
_REQUESTS = "l1tex__t_requests_pipe_lsu_mem_{}_op_{}.sum"
_WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"
_SECTORS_AT_ONCE = 4


VALIDATED: Mapping[str, str | float] = {
    "words": "estimates, not measurements: rank correlation with recorded times .54 to .94 on seven spaces of three kernels,"
    " 0.4 to 29 % median error after one scale",
    "rank_correlation": 0.80,
    "worst_rank_correlation": 0.54,
    "median_error": 0.08,
}
"""How far estimates agreed with recorded times of seven spaces, on average and at worst: docs/lab has each."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """`limiter` is what takes longest; `parts` are what each would take by itself, in microseconds."""

    us: float
    limiter: str
    parts: Mapping[str, float]


def estimate(counted: Counted, geometry: Geometry, occupancy: Occupancy, gpu: CatalogueGpu) -> Estimate | None:
    """None for a GPU whose clock or cache the catalogue does not have."""
    if gpu.clock_hz is None or gpu.cache_bytes is None:
        return None
    clock_hz = gpu.clock_hz
    blocks, resident = geometry.blocks, occupancy.blocks
    works = {name: cycles / blocks for name, cycles in _cycles(counted).items()}
    slots = gpu.compute_units * resident
    waves, left = divmod(blocks, slots)

    last = math.ceil(left / gpu.compute_units)

    def total(work: float, alone: float) -> float:
        """Of blocks that have so much work each, several at once, with warps that take so long by themselves; in cycles."""
        cycles = waves * max(resident * work, alone) + (max(last * work, alone) if left else 0.0)
        return 1e6 * cycles / clock_hz

    parts = {name: total(work, 0.0) for name, work in works.items()} | {"latency": total(0.0, counted.warp_cycles)}
    parts["memory"] = 1e6 * _SECTOR * _memory_sectors(counted, geometry, slots, gpu.cache_bytes) / gpu.bandwidth_bytes_per_s
    whole = max(total(max(works.values()), counted.warp_cycles), parts["memory"])
    return Estimate(whole, max(parts, key=lambda name: parts[name]), parts)


def _cycles(counted: Counted) -> dict[str, float]:
    """Of all blocks, on one multiprocessor, by what is busy."""
    found, rates = counted.metrics, counted.rates

    def pipe(name: str) -> float:
        return found[_PIPE.format(name)] / _PARTITIONS

    lines = sum(
        max(found[_REQUESTS.format(space, letters)], found[_SECTORS.format(space, letters)] / _SECTORS_AT_ONCE)
        for space in ("global", "local")
        for letters in ("ld", "st")
    )
    return {
        "issue": found["smsp__inst_executed.sum"] / _PARTITIONS,
        "fma": max((pipe("fma") + pipe("fmaheavy")) * rates.fma, pipe("fmaheavy") * rates.multiply),
        "alu": pipe("alu") * rates.alu,
        "fp64": pipe("fp64") * rates.fp64,
        "fp16": pipe("fp16") * rates.fp16,
        "special functions": pipe("xu") * rates.xu,
        "uniform": pipe("uniform") * rates.uniform,
        "branches": pipe("cbu") * rates.branch,
        "loads and stores": found[_PIPE.format("lsu")] * rates.lsu,
        "first cache and shared memory": lines + sum(found[_WAVEFRONTS.format(letters)] for letters in ("ld", "st")),
        "second cache": (found["lts__t_sectors_op_read.sum"] + found["lts__t_sectors_op_write.sum"])
        * _SECTOR
        / _SECOND_CACHE_BYTES,
    }


def _memory_sectors(counted: Counted, geometry: Geometry, slots: int, cache_bytes: int) -> float:
    """That have to come from memory: once for all where they fit the last cache together, else once for each wave of blocks."""
    touched = sum(counted.sectors)
    if not touched:
        return 0.0
    wide, high, _ = geometry.grid

    def distinct(count: int) -> float:
        """Of the first so many blocks of the grid, which begin along x."""
        x = min(count, wide)
        y = min(max(1, math.ceil(count / wide)), high)
        z = max(1, math.ceil(count / (wide * high)))
        alone, along_x, along_y, both = counted.sectors
        return (alone * x * y + along_x * y + along_y * x + both) * z

    scale = counted.distinct_sectors / geometry.blocks / touched  # what was foretold of loops was not touched
    everything = distinct(geometry.blocks) * scale
    if everything * _SECTOR <= cache_bytes or geometry.blocks <= slots:
        return everything
    return max(everything, distinct(slots) * scale * geometry.blocks / slots)
