"""Owns an open OpenCL device: context, profiling queue, memory, and launching one kernel with its device time.

What the kernels of a binary mean (entry, helpers) is the device's business.
"""

from __future__ import annotations

import ctypes
from collections import OrderedDict
from typing import Any

from warpsmith.core.hardware import Dim3
from warpsmith.devices._clruntime.building import BuildError, build
from warpsmith.devices.base import LaunchError

# A tuner alternates between the buffers of a handful of workloads.
_CACHED_BUFFERS = 256


class ClSession:
    """A context and an in-order profiling queue on one device."""

    def __init__(self, cl: Any, device: Any) -> None:
        self.cl = cl
        self.device = device
        self.context = cl.Context([device])
        self.queue = cl.CommandQueue(self.context, properties=cl.command_queue_properties.PROFILING_ENABLE)
        self._shares_host_memory = bool(device.type & cl.device_type.CPU)
        self._alignment = device.mem_base_addr_align // 8
        self._buffers: OrderedDict[tuple[int, int], Any] = OrderedDict()

    def load_binary(self, code: bytes) -> Any:
        try:
            return build(self.cl, self.cl.Program(self.context, [self.device], [code]), ())
        except BuildError as error:
            raise LaunchError(f"the stored binary does not load: {error}") from error

    def launch(self, kernel: Any, arguments: tuple[memoryview | bytes | None, ...], global_size: Dim3, local_size: Dim3) -> int:
        """Launch once and wait; the device's own nanoseconds."""
        cl = self.cl
        copies: list[tuple[memoryview, Any]] = []
        try:
            for index, argument in enumerate(arguments):
                if isinstance(argument, memoryview):
                    buffer = self._buffer(argument, copies)
                    kernel.set_arg(index, buffer)
                else:
                    kernel.set_arg(index, argument)
            event = cl.enqueue_nd_range_kernel(self.queue, kernel, global_size, local_size)
            event.wait()
            for view, buffer in copies:
                cl.enqueue_copy(self.queue, view, buffer)
        except cl.Error as error:
            raise LaunchError(f"{error} (global size {global_size}, work-group {local_size})") from error
        return int(event.profile.end - event.profile.start)

    def _buffer(self, view: memoryview, copies: list[tuple[memoryview, Any]]) -> Any:
        """Zero copies where device and host share memory and the view is aligned; else a copy there and back, untimed."""
        cl, flags = self.cl, self.cl.mem_flags
        if view.nbytes == 0:
            return None
        address = ctypes.addressof(ctypes.c_char.from_buffer(view))
        if not self._shares_host_memory or address % self._alignment:
            buffer = cl.Buffer(self.context, flags.READ_WRITE | flags.COPY_HOST_PTR, hostbuf=view)
            copies.append((view, buffer))
            return buffer
        key = (address, view.nbytes)
        cached = self._buffers.get(key)
        if cached is None:
            # By address, not by view: the cache must not keep its owner from unmapping memory that is no longer launched on.
            memory = (ctypes.c_char * view.nbytes).from_address(address)
            cached = cl.Buffer(self.context, flags.READ_WRITE | flags.USE_HOST_PTR, hostbuf=memory)
            self._buffers[key] = cached
            if len(self._buffers) > _CACHED_BUFFERS:
                self._buffers.popitem(last=False)
        return cached
