"""Reads the device limits r(h) of an OpenCL device."""

from __future__ import annotations

from typing import Any

from warpsmith.core.hardware import Limits

_ORDINARY_MEMORY = 2  # CL_GLOBAL: a work-group's memory is not memory of its own
_AVX512 = 16  # floats in a vector


def read_limits(device: Any, *, warp_size: int) -> Limits:
    """`warp_size` is the caller's choice: OpenCL devices offer several sub-group sizes."""
    x, y, z = (*device.max_work_item_sizes, 1, 1)[:3]
    is_cpu = device.local_mem_type == _ORDINARY_MEMORY
    return Limits(
        max_threads_per_block=device.max_work_group_size,
        max_block_x=x,
        max_block_y=y,
        max_block_z=z,
        shared_bytes_per_block=device.local_mem_size,
        warp_size=warp_size,
        compute_units=device.max_compute_units,
        shared_banks=1 if is_cpu else 32,
        registers_per_thread=_vector_registers(device) if is_cpu else 255,
    )


def _vector_registers(device: Any) -> int:
    return 32 if device.native_vector_width_float >= _AVX512 else 16
