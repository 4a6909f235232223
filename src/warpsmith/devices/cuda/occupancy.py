"""Blocks per multiprocessor: the rules of NVIDIA's `cuda_occupancy.h`, tested against it."""

from __future__ import annotations

import sys

from warpsmith.core.hardware import Geometry, Limiter, Occupancy, Resources
from warpsmith.devices.cuda.architecture import Architecture

UNLIMITED = sys.maxsize


def occupancy(architecture: Architecture, used: Resources, geometry: Geometry) -> Occupancy:
    """For a kernel that opted in to its shared memory, with the largest split between shared memory and cache."""
    threads = geometry.threads_per_block
    warps = -(-threads // architecture.warp_size)
    shared_bytes = (used.shared_bytes or 0) + geometry.shared_bytes
    by = (
        (Limiter.THREADS, architecture.warps // warps if threads <= architecture.threads_per_block else 0),
        (Limiter.REGISTERS, _by_registers(architecture, used.registers or 0, warps)),
        (Limiter.SHARED_MEMORY, _by_shared_memory(architecture, shared_bytes)),
        (Limiter.BARRIERS, _by_barriers(architecture, used.barriers or 0)),
        (Limiter.BLOCKS, architecture.blocks),
    )
    blocks = min(count for _, count in by)
    problem = _problem(architecture, by, used, threads, shared_bytes) if blocks == 0 else None
    return Occupancy(blocks, blocks * warps, architecture.warps, shared_bytes, by, problem)


def _by_registers(architecture: Architecture, registers: int, warps: int) -> int:
    if registers == 0:
        return UNLIMITED
    per_warp = _rounded_up(registers * architecture.warp_size, architecture.register_granularity)
    # The hardware checks a block as if its warps filled all partitions evenly, though it does not place them so.
    if per_warp * _rounded_up(warps, architecture.partitions) > architecture.registers:
        return 0
    warps_per_partition = architecture.registers // architecture.partitions // per_warp
    return warps_per_partition * architecture.partitions // warps


def _by_shared_memory(architecture: Architecture, shared_bytes: int) -> int:
    reserved = architecture.reserved_shared_bytes_per_block
    allocated = _rounded_up(shared_bytes + reserved, architecture.shared_granularity)
    if allocated > architecture.shared_bytes_per_block + reserved:
        return 0
    return architecture.shared_bytes // allocated if allocated else UNLIMITED


def _by_barriers(architecture: Architecture, barriers: int) -> int:
    return UNLIMITED if architecture.barriers is None or barriers == 0 else architecture.barriers // barriers


def _problem(
    architecture: Architecture, by: tuple[tuple[Limiter, int], ...], used: Resources, threads: int, shared_bytes: int
) -> str:
    match next(limiter for limiter, count in by if count == 0):
        case Limiter.REGISTERS:
            most = architecture.registers
            return f"{used.registers} registers in {threads} threads do not fit into the {most} of a multiprocessor"
        case Limiter.SHARED_MEMORY:
            return f"{shared_bytes} bytes of shared memory exceed the {architecture.shared_bytes_per_block} of a block"
        case Limiter.BARRIERS:
            return f"{used.barriers} barriers exceed the {architecture.barriers} of a multiprocessor"
        case _:
            return f"{threads} threads exceed the {architecture.threads_per_block} of a block"


def _rounded_up(value: int, step: int) -> int:
    return -(-value // step) * step
