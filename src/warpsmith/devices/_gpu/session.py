"""An open GPU in the measuring worker: memory for each buffer, launches timed by events, caches emptied before each."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any, TypeGuard

from warpsmith.core.hardware import Geometry, Reading
from warpsmith.devices._gpu.api import GpuApi
from warpsmith.devices.base import Binary, LaunchError

VARIABLE = "variable:"
"""Prefix of the entries in a binary's `device_data` that give the lowered names of its variables."""

_POINTER_BYTES = 8


class GpuSession:
    def __init__(self, api: GpuApi) -> None:
        self.api = api
        # Twice the cache: what a launch finds in it must not depend on the launch before.
        self._flush_bytes = 2 * api.cache_bytes
        self._flush = api.allocate(self._flush_bytes) if self._flush_bytes else None
        self._buffers: dict[tuple[int, int], Any] = {}

    def load(self, binary: Binary) -> GpuProgram:
        return GpuProgram(self, binary)

    def buffer(self, address: int, nbytes: int) -> Any:
        """Device memory that stands for so much host memory; a tuner alternates between the buffers of a few workloads."""
        key = (address, nbytes)
        if key not in self._buffers:
            self._buffers[key] = self.api.allocate(nbytes)
        return self._buffers[key]

    def reading(self) -> Reading | None:
        return self.api.reading()

    def empty_caches(self) -> None:
        if self._flush is not None:
            self.api.fill(self._flush, self._flush_bytes)


class GpuProgram:
    """A loaded binary."""

    def __init__(self, session: GpuSession, binary: Binary) -> None:
        self._session = session
        self._data = binary.device_data
        self._module = session.api.load(binary.code)
        self._kernel = session.api.kernel(self._module, binary.entry)
        self._allowed_shared_bytes = 0

    def launch(self, arguments: tuple[memoryview | bytes | None, ...], geometry: Geometry) -> int:
        """Copies in, launches, copies out; only the kernel is timed."""
        session, api = self._session, self._session.api
        if geometry.shared_bytes > self._allowed_shared_bytes:
            api.allow_shared(self._kernel, geometry.shared_bytes)
            self._allowed_shared_bytes = geometry.shared_bytes
        views = [(_address(argument), argument.nbytes) for argument in arguments if _is_buffer(argument)]
        memory = {address: session.buffer(address, nbytes) for address, nbytes in views}
        for address, nbytes in views:
            api.copy_in(memory[address], address, nbytes)
        values = [self._value(argument, memory) for argument in arguments]
        parameters = (ctypes.c_void_p * max(len(values), 1))(*(ctypes.addressof(value) for value in values))
        session.empty_caches()
        api.start_clock()
        api.launch(self._kernel, geometry, ctypes.addressof(parameters))
        nanoseconds = api.stop_clock()
        for address, nbytes in views:
            api.copy_out(address, memory[address], nbytes)
        return nanoseconds

    def set_constants(self, values: Mapping[str, bytes]) -> None:
        api = self._session.api
        for name, value in values.items():
            memory, size = api.variable(self._module, str(self._data[f"{VARIABLE}{name}"]))
            if len(value) > size:
                raise LaunchError(f"{len(value)} bytes do not fit __constant__ {name} of {size} bytes")
            source = ctypes.create_string_buffer(value, len(value))
            api.copy_in(memory, ctypes.addressof(source), len(value))

    def close(self) -> None:
        self._session.api.unload(self._module)

    def _value(self, argument: memoryview | bytes | None, memory: Mapping[int, Any]) -> ctypes.Array[ctypes.c_char]:
        """The bytes of one kernel parameter, where a launch reads them."""
        if isinstance(argument, bytes):
            return ctypes.create_string_buffer(argument, len(argument))
        pointer = self._session.api.address(memory[_address(argument)]) if _is_buffer(argument) else 0
        return ctypes.create_string_buffer(pointer.to_bytes(_POINTER_BYTES, "little"), _POINTER_BYTES)


def _is_buffer(argument: memoryview | bytes | None) -> TypeGuard[memoryview]:
    return isinstance(argument, memoryview) and argument.nbytes > 0


def _address(view: memoryview) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(view))
