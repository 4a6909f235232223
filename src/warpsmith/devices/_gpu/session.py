"""An open GPU in the measuring worker: keeps and fills buffers on it, times launches by events, empties caches before each."""

from __future__ import annotations

import contextlib
import ctypes
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias, TypeGuard

from warpsmith.core.errors import UnavailableError
from warpsmith.core.hardware import Counters, Geometry, NotCounted, Reading
from warpsmith.devices._gpu.api import GpuApi
from warpsmith.devices._gpu.mirrors import Mirrors
from warpsmith.devices._gpu.requests import VARIABLE
from warpsmith.devices.base import Binary, ContextLost, LaunchError
from warpsmith.devices.memory import PIECE_BYTES, Filling

Arguments: TypeAlias = tuple[memoryview | bytes | None, ...]
_Value: TypeAlias = ctypes.Array[ctypes.c_char] | ctypes.c_uint64

_FILLING_THREADS = 256
# Filling this much takes any GPU longer than Python needs to submit the next launch. If the fill ended sooner, the clock that
# starts at its end would include the submission.
_LEAST_FLUSH_BYTES = 256 << 20
_MOST_FILLS = 16


def open_session(connect: Callable[[], GpuApi], pauses_s: Sequence[float] = (0.2, 0.5, 1.0, 2.0)) -> GpuSession:
    """Raises UnavailableError for a GPU that exists and cannot be opened, which is no candidate's fault.

    A worker that was just killed may still hold its memory: opening is retried after these pauses.
    """
    for pause_s in pauses_s:
        try:
            return GpuSession(connect())
        except LaunchError:
            time.sleep(pause_s)
        except ContextLost:
            break  # not to be mended in this process; the last try says what it is
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
        # Twice the cache size: cache contents must not depend on the previous launch.
        self._flush_bytes = max(2 * api.cache_bytes, _LEAST_FLUSH_BYTES)
        self._flush_times = 1
        try:
            self._flush = api.allocate(self._flush_bytes)
        except LaunchError:  # a part of a GPU, or one that others use: as long a fill in less memory
            least = max(2 * api.cache_bytes, _LEAST_FLUSH_BYTES // _MOST_FILLS)
            self._flush_times = -(-self._flush_bytes // least)
            self._flush_bytes = least
            self._flush = api.allocate(least)
        self.mirrors = Mirrors(api)
        self._filler: GpuProgram | None = None

    def load(self, binary: Binary) -> GpuProgram:
        return GpuProgram(self, binary)

    def surround(self, buffer: memoryview, guarded: memoryview) -> None:
        self.mirrors.surround(buffer, guarded)

    def fill_with(self, filler: Binary) -> None:
        with contextlib.suppress(LaunchError):  # without it the host fills
            self._filler = self.load(filler)

    def fill(self, buffers: Iterable[memoryview], fillings: Sequence[Filling]) -> bool:
        if self._filler is None:
            return False
        try:
            self.mirrors.hold(buffers, [filling.source for filling in fillings])
        except LaunchError:
            return False
        for filling in fillings:
            mirror, nbytes = self.mirrors.of(filling.buffer), filling.buffer.nbytes
            self.mirrors.put(mirror)
            if filling.is_changed or mirror.contents != filling.contents:
                mirror.contents = filling.contents
                to = self.api.address(mirror.memory) + mirror.data_at
                numbers = (to, self.api.address(self.mirrors.source(filling.source)), nbytes, *filling.contents.numbers)
                pieces = Geometry((-(-nbytes // PIECE_BYTES), 1, 1), (_FILLING_THREADS, 1, 1))
                try:
                    self._filler.launch_untimed(numbers, pieces)
                except LaunchError:
                    self._filler = None
                    return False
        return True

    def outdate(self, buffers: Iterable[memoryview]) -> None:
        self.mirrors.outdate(buffers)

    def fetch(self, buffers: Iterable[memoryview]) -> None:
        for buffer in buffers:
            self.mirrors.fetch(self.mirrors.of(buffer))

    def reading(self) -> Reading | None:
        return self.api.reading()

    def empty_caches(self) -> None:
        for _ in range(self._flush_times):
            self.api.fill(self._flush, self._flush_bytes)


class GpuProgram:
    """A loaded binary."""

    def __init__(self, session: GpuSession, binary: Binary) -> None:
        self._session = session
        self._data = binary.device_data
        self._entry = binary.entry
        self._code = binary.code  # AMD's runtime reads it as long as the module is loaded; NVIDIA's has a copy
        self._load()
        self._lasting = tuple(binary.lasting_bytes)
        self._pristine: list[tuple[Any, Any, int]] | None = None
        """Initial contents of variables that a launch can change: address, copy, and size."""

    def _load(self) -> None:
        self._module = self._session.api.load(self._code)
        self._kernel = self._session.api.kernel(self._module, self._entry)
        self._allowed_shared_bytes = 0

    def launch(self, arguments: Arguments, geometry: Geometry) -> int:
        """Copies in, launches, copies out; only the kernel is timed."""
        buffers = _buffers(arguments)
        self._session.outdate(buffers)
        duration_ns = self.launch_kept(arguments, geometry)
        self._session.fetch(buffers)
        return duration_ns

    def launch_kept(self, arguments: Arguments, geometry: Geometry, *, is_timed: bool = True) -> int:
        api = self._session.api
        self._allow_shared(geometry)
        with _addresses(self._values(arguments)) as parameters:
            if not is_timed:
                api.launch(self._kernel, geometry, parameters)
                return 0
            self._session.empty_caches()
            api.start_clock()
            api.launch(self._kernel, geometry, parameters)
            return api.stop_clock()

    def launch_untimed(self, numbers: Iterable[int], geometry: Geometry) -> None:
        """In the stream, with numeric parameters; does not wait."""
        with _addresses([ctypes.c_uint64(number) for number in numbers]) as parameters:
            self._session.api.launch(self._kernel, geometry, parameters)

    def counters(self, arguments: Arguments, geometry: Geometry) -> Counters | NotCounted:
        duration_ns = self.launch(arguments, geometry)
        session, api = self._session, self._session.api

        def prepare() -> None:
            api.start_clock()
            session.empty_caches()
            api.stop_clock()

        with _addresses(self._values(arguments)) as parameters:

            def launch() -> None:
                api.start_clock()
                api.launch(self._kernel, geometry, parameters)
                api.stop_clock()

            counted = api.counters(prepare, launch, duration_ns)
        session.fetch(_buffers(arguments))
        return counted

    def reset(self) -> bool:
        """By copies on the device; the module is loaded again if it hides one of its variables, or the copies do not fit."""
        if not self._lasting:
            return False
        api = self._session.api
        if self._pristine is None:  # nothing was launched yet
            self._pristine = []
            try:
                for name in self._lasting:
                    memory, size = api.variable(self._module, name)
                    self._pristine.append((memory, api.allocate(size), size))
                    api.copy(self._pristine[-1][1], memory, size)
            except LaunchError:
                self._forget_pristine()
        elif self._pristine:
            for memory, copy, size in self._pristine:
                api.copy(memory, copy, size)
        else:
            api.unload(self._module)
            self._load()
        return True

    def _forget_pristine(self) -> None:
        for _, copy, _ in self._pristine or ():
            self._session.api.free(copy)
        self._pristine = []

    def set_constants(self, values: Mapping[str, bytes]) -> None:
        api = self._session.api
        for name, value in values.items():
            memory, size = api.variable(self._module, str(self._data[f"{VARIABLE}{name}"]))
            if len(value) > size:
                raise LaunchError(f"{len(value)} bytes do not fit __constant__ {name} of {size} bytes")
            source = ctypes.create_string_buffer(value, len(value))
            api.copy_in(memory, ctypes.addressof(source), len(value))

    def close(self) -> None:
        self._forget_pristine()
        self._session.api.unload(self._module)

    def _allow_shared(self, geometry: Geometry) -> None:
        if geometry.shared_bytes > self._allowed_shared_bytes:
            self._session.api.allow_shared(self._kernel, geometry.shared_bytes)
            self._allowed_shared_bytes = geometry.shared_bytes

    def _values(self, arguments: Arguments) -> list[_Value]:
        """Bytes of the kernel's parameters, where a launch reads them; buffers are on the device from here on."""
        mirrors = self._session.mirrors
        mirrors.hold(_buffers(arguments))
        values: list[_Value] = []
        for argument in arguments:
            if isinstance(argument, bytes):
                values.append(ctypes.create_string_buffer(argument, len(argument)))
            elif _is_buffer(argument):
                mirror = mirrors.of(argument)
                mirrors.put(mirror)
                values.append(ctypes.c_uint64(self._session.api.address(mirror.memory) + mirror.data_at))
            else:
                values.append(ctypes.c_uint64(0))
        return values


@contextmanager
def _addresses(values: Sequence[_Value]) -> Iterator[int]:
    """Address of an array with the addresses of the values, valid within the context."""
    addresses = (ctypes.c_void_p * max(len(values), 1))(*(ctypes.addressof(value) for value in values))
    yield ctypes.addressof(addresses)


def _buffers(arguments: Arguments) -> list[memoryview]:
    return [argument for argument in arguments if _is_buffer(argument)]


def _is_buffer(argument: memoryview | bytes | None) -> TypeGuard[memoryview]:
    return isinstance(argument, memoryview) and argument.nbytes > 0
