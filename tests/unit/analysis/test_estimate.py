"""Estimates of time from counts: which part limits, and what waves, tails and caches do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from warpsmith.analysis.catalogue import CatalogueGpu
from warpsmith.analysis.estimate import estimate
from warpsmith.core.counted import Counted
from warpsmith.core.hardware import Geometry, Limiter, Occupancy, UnitRates

GPU = CatalogueGpu("card", "a card", "sm_80", 10, 1e12, {}, {}, clock_hz=1e9, cache_bytes=1 << 20)
PIPES = ("fma", "fmaheavy", "alu", "fp64", "fp16", "xu", "uniform", "cbu", "lsu")


def counted(
    metrics: Mapping[str, float],
    *,
    warp_cycles: float = 0.0,
    sectors: tuple[int, int, int, int] = (0, 0, 0, 0),
    distinct: float = 0,
) -> Counted:
    names = [f"smsp__inst_executed_pipe_{pipe}.sum" for pipe in PIPES]
    names += [f"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{letters}.sum" for letters in ("ld", "st")]
    for what in ("requests", "sectors"):
        names += [f"l1tex__t_{what}_pipe_lsu_mem_{space}_op_{l}.sum" for space in ("global", "local") for l in ("ld", "st")]  # noqa: E741
    names += ["smsp__inst_executed.sum", "lts__t_sectors_op_read.sum", "lts__t_sectors_op_write.sum"]
    found = dict.fromkeys(names, 0.0) | dict(metrics)
    return Counted(found, warp_cycles, 1, sectors, distinct, UnitRates(fma=2, fp64=2, fp16=1))


def geometry(blocks: int, high: int = 1) -> Geometry:
    return Geometry((blocks, high, 1), (128, 1, 1))


def occupancy(blocks: int) -> Occupancy:
    return Occupancy(blocks, 4 * blocks, 64, 0, ((Limiter.BLOCKS, blocks),))


def us(found: Counted, shape: Geometry, resident: int = 2) -> tuple[float, str]:
    made = estimate(found, shape, occupancy(resident), GPU)
    assert made is not None
    return made.us, made.limiter


def test_the_busiest_unit_is_the_time() -> None:
    """20 blocks of 4,000 instructions each; two blocks a multiprocessor, four partitions."""
    work = counted({"smsp__inst_executed.sum": 80_000, "smsp__inst_executed_pipe_xu.sum": 20_000})
    assert us(work, geometry(20)) == (pytest.approx(2 * 1000 * 8 / 4 * 1e-3), "special functions")


def test_a_tail_takes_as_long_as_the_blocks_that_are_left() -> None:
    full, more = (counted({"smsp__inst_executed.sum": 4000.0 * blocks}) for blocks in (20, 21))
    assert us(full, geometry(20))[0] == pytest.approx(2.0)
    assert us(more, geometry(21))[0] == pytest.approx(3.0), "one block more, alone on a multiprocessor"


def test_few_warps_wait_for_themselves() -> None:
    work = counted({"smsp__inst_executed.sum": 40_000.0}, warp_cycles=5000)
    assert us(work, geometry(40)) == (pytest.approx(10.0), "latency")
    assert us(work, geometry(40), resident=4) == (pytest.approx(5.0), "latency")


def test_what_neighbours_share_comes_from_memory_once() -> None:
    """A row of blocks that all read the same 1,000 sectors, and 1,000 of their own each."""
    shared = counted({}, sectors=(1000, 1000, 0, 0), distinct=2000 * 1000)
    alone = replace(shared, sectors=(2000, 0, 0, 0))
    fraction = us(shared, geometry(1000))[0] / us(alone, geometry(1000))[0]
    assert fraction == pytest.approx(0.5, rel=0.06), "once a wave of 20 blocks"
    assert us(shared, geometry(1000))[1] == "memory"


def test_no_estimate_without_a_clock() -> None:
    assert estimate(counted({}), geometry(1), occupancy(1), replace(GPU, clock_hz=None)) is None
