"""Blocks per compute unit: the rules of LLVM's AMDGPU back end, tested against the remarks it prints."""

from __future__ import annotations

import sys

from warpsmith.core.hardware import Geometry, Limiter, Occupancy, Resources
from warpsmith.devices.hip.target import HipTarget

UNLIMITED = sys.maxsize

# Waves that a SIMD of the GCN family (gfx9) has scalar registers for, by a wave's maximum use.
_WAVES_BY_SCALAR_REGISTERS = ((80, 10), (88, 9), (100, 8))
_LEAST_WAVES_BY_SCALAR_REGISTERS = 7


def occupancy(target: HipTarget, used: Resources, geometry: Geometry) -> Occupancy:
    threads = geometry.threads_per_block
    waves = -(-threads // target.wave_size)
    shared_bytes = (used.shared_bytes or 0) + geometry.shared_bytes
    by = (
        (Limiter.THREADS, target.max_waves // waves if threads <= target.threads_per_block else 0),
        (Limiter.REGISTERS, target.simds * waves_by_registers(target, used) // waves),
        (Limiter.SHARED_MEMORY, _by_shared_memory(target, shared_bytes)),
        # A block of one wave needs no barrier.
        (Limiter.BLOCKS, target.blocks if waves > 1 else target.max_waves),
    )
    blocks = min(count for _, count in by)
    problem = _problem(target, by, used, threads, shared_bytes) if blocks == 0 else None
    return Occupancy(blocks, blocks * waves, target.max_waves, shared_bytes, by, problem)


def waves_by_registers(target: HipTarget, used: Resources) -> int:
    """Waves per SIMD."""
    allocated = _rounded_up(max(used.registers or 0, 1), target.vector_granularity)
    by_vector = min(target.waves, target.vector_registers // allocated)
    if not target.scalar_registers_limit:
        return by_vector
    scalar = used.scalar_registers or 0
    by_scalar = next((waves for most, waves in _WAVES_BY_SCALAR_REGISTERS if scalar <= most), _LEAST_WAVES_BY_SCALAR_REGISTERS)
    return min(by_vector, by_scalar)


def _by_shared_memory(target: HipTarget, shared_bytes: int) -> int:
    if shared_bytes > target.shared_bytes_per_block:
        return 0
    allocated = _rounded_up(shared_bytes, target.shared_granularity)
    return target.shared_bytes // allocated if allocated else UNLIMITED


def _problem(target: HipTarget, by: tuple[tuple[Limiter, int], ...], used: Resources, threads: int, shared_bytes: int) -> str:
    match next(limiter for limiter, count in by if count == 0):
        case Limiter.REGISTERS:
            return f"{used.registers} registers in {threads} threads exceed the {target.vector_registers} of a SIMD"
        case Limiter.SHARED_MEMORY:
            return f"{shared_bytes} bytes of shared memory exceed the {target.shared_bytes_per_block} of a block"
        case _:
            return f"{threads} threads exceed the {target.threads_per_block} of a block"


def _rounded_up(value: int, step: int) -> int:
    return -(-value // step) * step
