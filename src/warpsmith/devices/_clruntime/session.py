"""An open OpenCL device: context, profiling queue, memory, and timed launches of a kernel.

The device interprets a binary's kernels (entry, helpers).
"""

from __future__ import annotations

import ctypes
import math
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

import numpy as np

from warpsmith.core.hardware import Dim3
from warpsmith.devices._clruntime.building import BuildError, build
from warpsmith.devices.base import ContextLost, LaunchError

# A tuner alternates between the buffers of a few workloads.
_CACHED_BUFFERS = 256

# Polls again after an eighth of the time waited so far, which bounds the delay.
_SHORTEST_NAP_S, _LONGEST_NAP_S = 20e-6, 1e-3


@dataclass(frozen=True, slots=True)
class _Copy:
    """Host memory and its device copy, with guards; `part` is the buffer itself and lives through the launch."""

    host: memoryview
    memory: Any
    part: Any


class ClSession:
    """A context and an in-order profiling queue on one device.

    `one_thread`: all blocks run in the same thread. Intel's CPU runtime also uses the thread that waits for an event: with one
    worker, blocks would run in either thread, each with its own stack and shared memory, so that leftovers of a block would
    survive the launch that should overwrite them; and on one core the waiting thread would take the other's time.
    """

    def __init__(self, cl: Any, device: Any, *, one_thread: bool = False) -> None:
        self.cl = cl
        self.device = device
        self._one_thread = one_thread
        self.context = cl.Context([device])
        self.queue = cl.CommandQueue(self.context, properties=cl.command_queue_properties.PROFILING_ENABLE)
        self._shares_host_memory = bool(device.type & cl.device_type.CPU)
        self._alignment = device.mem_base_addr_align // 8
        self._buffers: OrderedDict[tuple[int, int], Any] = OrderedDict()
        self._guarded: dict[int, tuple[int, int]] = {}
        """By buffer address: start of its guards, and its size including them."""

    def surround(self, buffer: memoryview, guarded: memoryview) -> None:
        """Does nothing where device and host share memory: the guards are around the buffer already."""
        if not self._shares_host_memory:
            self._guarded[address_of(buffer)] = (address_of(guarded), guarded.nbytes)

    def load_binary(self, code: bytes) -> Any:
        try:
            return build(self.cl, self.cl.Program(self.context, [self.device], [code]), ())
        except BuildError as error:
            raise LaunchError(f"the stored binary does not load: {error}") from error

    def launch(self, kernel: Any, arguments: tuple[memoryview | bytes | None, ...], global_size: Dim3, local_size: Dim3) -> int:
        """Launch once and wait; the device's own nanoseconds.

        An error of the launch call is a LaunchError. An error found by waiting was caused by the kernel: GPU drivers return the
        same error from then on.
        """
        cl = self.cl
        copies: list[_Copy] = []
        where = f"(global size {global_size}, work-group {local_size})"
        try:
            for index, argument in enumerate(arguments):
                passed = self._buffer(argument, copies) if isinstance(argument, memoryview) else argument
                self._pass(kernel, index, passed)
            event = cl.enqueue_nd_range_kernel(self.queue, kernel, global_size, local_size)
        except cl.Error as error:
            raise LaunchError(f"{error} {where}{self._required(kernel, local_size)}") from error
        try:
            if self._one_thread:
                self._sleep_until_done(event)
            event.wait()
            for copy in copies:
                cl.enqueue_copy(self.queue, copy.host, copy.memory)
        except cl.Error as error:
            raise ContextLost(f"{error} {where}") from error
        return int(event.profile.end - event.profile.start)

    def _sleep_until_done(self, event: Any) -> None:
        self.queue.flush()
        begun = time.monotonic()
        while event.command_execution_status > self.cl.command_execution_status.COMPLETE:
            time.sleep(min(max((time.monotonic() - begun) / 8, _SHORTEST_NAP_S), _LONGEST_NAP_S))

    def _pass(self, kernel: Any, index: int, argument: Any) -> None:
        try:
            kernel.set_arg(index, argument)
        except self.cl.Error as error:
            given = f" of {len(argument)} bytes" if isinstance(argument, bytes) else ""
            raise LaunchError(f"parameter {index + 1} does not take the argument{given} that is given: {error}") from error

    def _required(self, kernel: Any, local_size: Dim3) -> str:
        """The work-group size that the source or the device requires, if it differs."""
        info = self.cl.kernel_work_group_info
        required = tuple(int(size) for size in kernel.get_work_group_info(info.COMPILE_WORK_GROUP_SIZE, self.device))
        if any(required) and required != local_size:
            return f": reqd_work_group_size asks for {required}"
        most = int(kernel.get_work_group_info(info.WORK_GROUP_SIZE, self.device))
        return f": at most {most} work-items" if math.prod(local_size) > most else ""

    def _buffer(self, view: memoryview, copies: list[_Copy]) -> Any:
        """No copy if device and host share memory and the view is aligned; else an untimed copy both ways."""
        cl, flags = self.cl, self.cl.mem_flags
        if view.nbytes == 0:
            return None
        address = address_of(view)
        if not self._shares_host_memory or address % self._alignment:
            begin, nbytes = self._guarded.get(address, (address, view.nbytes))
            host = memoryview((ctypes.c_char * nbytes).from_address(begin)).cast("B")
            memory = cl.Buffer(self.context, flags.READ_WRITE | flags.COPY_HOST_PTR, hostbuf=host)
            part = memory.get_sub_region(address - begin, view.nbytes) if nbytes > view.nbytes else memory
            copies.append(_Copy(host, memory, part))
            return part
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


def address_of(view: memoryview) -> int:
    if view.readonly:  # what a pool of inputs is
        return int(np.frombuffer(view, np.uint8).ctypes.data)
    return ctypes.addressof(ctypes.c_char.from_buffer(view))
