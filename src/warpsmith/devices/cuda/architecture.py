"""What a multiprocessor of each compute capability holds.

Sources: blocks, barriers, granularities and register rules are those of `cuda_occupancy.h` (CUDA 13.4), against which the
occupancy is tested; threads and shared memory those of the table "Technical Specifications per Compute Capability" in the CUDA
C++ Programming Guide. `multiprocessors` is that of the product named, for launches whose grid follows the size of the device; it
was checked for the T4, A100, RTX 4090, H100, B200 and RTX 5090, and is from memory for the others.
"""

from __future__ import annotations

from dataclasses import dataclass

from warpsmith.core.errors import InputError
from warpsmith.core.hardware import Limits
from warpsmith.devices.cuda.target import CudaTarget

_KIB = 1024

STATIC_SHARED_BYTES = 48 * _KIB
"""Limit on every NVIDIA GPU: more has to be dynamic, and opted in to."""


@dataclass(frozen=True, slots=True)
class Architecture:
    """Per multiprocessor, unless the name says otherwise. `barriers` is None if they never limit the number of blocks."""

    threads: int
    blocks: int
    shared_bytes: int
    shared_bytes_per_block: int  # what a kernel can opt in to
    barriers: int | None
    product: str
    multiprocessors: int
    reserved_shared_bytes_per_block: int = _KIB
    shared_granularity: int = 128
    registers: int = 65536
    register_granularity: int = 256  # of a warp's registers
    registers_per_thread: int = 255
    partitions: int = 4  # each has its own part of the registers
    warp_size: int = 32
    threads_per_block: int = 1024

    @property
    def warps(self) -> int:
        return self.threads // self.warp_size

    @property
    def limits(self) -> Limits:
        return Limits(
            max_threads_per_block=self.threads_per_block,
            max_block_x=1024,
            max_block_y=1024,
            max_block_z=64,
            shared_bytes_per_block=self.shared_bytes_per_block,
            warp_size=self.warp_size,
            compute_units=self.multiprocessors,
            max_grid_y=65535,
            max_grid_z=65535,
            static_shared_bytes_per_block=STATIC_SHARED_BYTES,
        )


def _of(threads: int, blocks: int, shared_kib: int, barriers: int | None, product: str, multiprocessors: int) -> Architecture:
    return Architecture(threads, blocks, shared_kib * _KIB, (shared_kib - 1) * _KIB, barriers, product, multiprocessors)


ARCHITECTURES: dict[tuple[int, int], Architecture] = {
    (7, 5): Architecture(
        1024, 16, 64 * _KIB, 64 * _KIB, None, "T4", 40, reserved_shared_bytes_per_block=0, shared_granularity=256
    ),
    (8, 0): _of(2048, 32, 164, None, "A100", 108),
    (8, 6): _of(1536, 16, 100, None, "GeForce RTX 3090", 82),
    (8, 7): _of(1536, 16, 164, None, "Jetson AGX Orin", 16),
    (8, 9): _of(1536, 24, 100, None, "GeForce RTX 4090", 128),
    (9, 0): _of(2048, 32, 228, 64, "H100 SXM", 132),
    (10, 0): _of(2048, 32, 228, 64, "B200", 148),
    (10, 3): _of(2048, 32, 228, 32, "B300", 148),
    (11, 0): _of(1536, 24, 228, 24, "Jetson AGX Thor", 20),
    (12, 0): _of(1536, 24, 100, 24, "GeForce RTX 5090", 170),
    (12, 1): _of(1536, 24, 100, 24, "DGX Spark", 48),
}


def architecture_of(target: CudaTarget) -> Architecture:
    """Raises InputError for a compute capability that is not in the table."""
    found = ARCHITECTURES.get(target.capability)
    if found is None:
        known = ", ".join(f"sm_{10 * major + minor}" for major, minor in ARCHITECTURES)
        raise InputError(f"the limits of {target} are not known", hint=f"known are {known}")
    return found
