"""An open GPU in the measuring worker: memory for each buffer, launches timed by events, caches emptied before each."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeGuard

from warpsmith.core.errors import UnavailableError
from warpsmith.core.hardware import Counters, Geometry, NotCounted, Reading
from warpsmith.devices._gpu.api import GpuApi
from warpsmith.devices.base import Binary, ContextLost, LaunchError

VARIABLE = "variable:"
"""Prefix of the entries in a binary's `device_data` that give the lowered names of its variables."""

_POINTER_BYTES = 8
# Filling so much takes any GPU longer than Python takes to hand over the launch behind it. Were the fill over sooner, the clock
# that starts with its end would count the handing over as the kernel's time.
_LEAST_FLUSH_BYTES = 256 << 20


@dataclass(frozen=True, slots=True)
class _Mirror:
    """Device memory that stands for a piece of host memory; the buffer itself begins `data_at` bytes in, behind its guard."""

    memory: Any
    host_address: int
    nbytes: int
    data_at: int


def open_session(connect: Callable[[], GpuApi]) -> GpuSession:
    """Raises UnavailableError for a GPU that is there and cannot be had. It is nobody's fault that is measured."""
    try:
        return GpuSession(connect())
    except (LaunchError, ContextLost) as error:
        raise UnavailableError(
            f"the GPU does not open: {error}",
            hint="another program may hold it, or all of its memory",
        ) from error


class GpuSession:
    def __init__(self, api: GpuApi) -> None:
        self.api = api
        # Twice the cache: what a launch finds in it must not depend on the launch before.
        self._flush_bytes = max(2 * api.cache_bytes, _LEAST_FLUSH_BYTES)
        self._flush = api.allocate(self._flush_bytes)
        self._guarded: dict[int, tuple[int, int]] = {}
        """By the address of a buffer: where its guards begin, and how much there is with them."""
        self._mirrors: dict[tuple[int, int], _Mirror] = {}

    def load(self, binary: Binary) -> GpuProgram:
        return GpuProgram(self, binary)

    def surround(self, buffer: memoryview, guarded: memoryview) -> None:
        self._guarded[_address(buffer)] = (_address(guarded), guarded.nbytes)

    def mirrors(self, arguments: tuple[memoryview | bytes | None, ...]) -> list[_Mirror | None]:
        """For each that is a buffer. Where the GPU's memory does not hold all workloads, those of others make room."""
        try:
            return [self._mirror(argument) if _is_buffer(argument) else None for argument in arguments]
        except LaunchError:
            if not self._mirrors:
                raise
            for mirror in self._mirrors.values():
                self.api.free(mirror.memory)
            self._mirrors.clear()
        return [self._mirror(argument) if _is_buffer(argument) else None for argument in arguments]

    def _mirror(self, view: memoryview) -> _Mirror:
        """Allocated once: a tuner alternates between the buffers of a few workloads."""
        address = _address(view)
        begin, nbytes = self._guarded.get(address, (address, view.nbytes))
        key = (begin, nbytes)
        if key not in self._mirrors:
            self._mirrors[key] = _Mirror(self.api.allocate(nbytes), begin, nbytes, address - begin)
        return self._mirrors[key]

    def reading(self) -> Reading | None:
        return self.api.reading()

    def empty_caches(self) -> None:
        self.api.fill(self._flush, self._flush_bytes)


class GpuProgram:
    """A loaded binary."""

    def __init__(self, session: GpuSession, binary: Binary) -> None:
        self._session = session
        self._data = binary.device_data
        self._code = binary.code  # AMD's runtime reads it as long as the module is loaded; NVIDIA's has a copy
        self._module = session.api.load(self._code)
        self._kernel = session.api.kernel(self._module, binary.entry)
        self._allowed_shared_bytes = 0

    def launch(self, arguments: tuple[memoryview | bytes | None, ...], geometry: Geometry) -> int:
        """Copies in, launches, copies out; only the kernel is timed."""
        session, api = self._session, self._session.api
        with self._ready(arguments, geometry) as parameters:
            session.empty_caches()
            api.start_clock()
            api.launch(self._kernel, geometry, parameters)
            return api.stop_clock()

    def counters(self, arguments: tuple[memoryview | bytes | None, ...], geometry: Geometry) -> Counters | NotCounted:
        duration_ns = self.launch(arguments, geometry)
        session, api = self._session, self._session.api

        def prepare() -> None:
            api.start_clock()
            session.empty_caches()
            api.stop_clock()

        with self._ready(arguments, geometry) as parameters:

            def launch() -> None:
                api.start_clock()
                api.launch(self._kernel, geometry, parameters)
                api.stop_clock()

            return api.counters(prepare, launch, duration_ns)

    @contextmanager
    def _ready(self, arguments: tuple[memoryview | bytes | None, ...], geometry: Geometry) -> Iterator[int]:
        """Buffers on the device while launches last; the address of the parameters."""
        session, api = self._session, self._session.api
        if geometry.shared_bytes > self._allowed_shared_bytes:
            api.allow_shared(self._kernel, geometry.shared_bytes)
            self._allowed_shared_bytes = geometry.shared_bytes
        mirrors = session.mirrors(arguments)
        copied = [mirror for mirror in mirrors if mirror is not None]
        for mirror in copied:
            api.copy_in(mirror.memory, mirror.host_address, mirror.nbytes)
        values = [self._value(argument, mirror) for argument, mirror in zip(arguments, mirrors, strict=True)]
        parameters = (ctypes.c_void_p * max(len(values), 1))(*(ctypes.addressof(value) for value in values))
        yield ctypes.addressof(parameters)
        for mirror in copied:
            api.copy_out(mirror.host_address, mirror.memory, mirror.nbytes)

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

    def _value(self, argument: memoryview | bytes | None, mirror: _Mirror | None) -> ctypes.Array[ctypes.c_char]:
        """The bytes of one kernel parameter, where a launch reads them."""
        if isinstance(argument, bytes):
            return ctypes.create_string_buffer(argument, len(argument))
        pointer = self._session.api.address(mirror.memory) + mirror.data_at if mirror is not None else 0
        return ctypes.create_string_buffer(pointer.to_bytes(_POINTER_BYTES, "little"), _POINTER_BYTES)


def _is_buffer(argument: memoryview | bytes | None) -> TypeGuard[memoryview]:
    return isinstance(argument, memoryview) and argument.nbytes > 0


def _address(view: memoryview) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(view))
