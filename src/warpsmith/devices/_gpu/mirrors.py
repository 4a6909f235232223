"""Device copies of host buffers with their guards, and the memory that buffers are filled from."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from warpsmith.core.arrays import Array
from warpsmith.devices._gpu.api import GpuApi
from warpsmith.devices.base import ContextLost, LaunchError
from warpsmith.devices.memory import Contents


@dataclass(slots=True)
class Mirror:
    """A buffer on the device, `data_at` bytes into its allocation, after its guard."""

    memory: Any
    host_address: int
    nbytes: int
    data_at: int
    is_current: bool = False
    """Whether it equals the host's, apart from later fills and launches."""
    contents: Contents | None = None
    """The contents filled in last."""


class Mirrors:
    """Allocated once: a tuner alternates between the buffers of a few workloads."""

    def __init__(self, api: GpuApi) -> None:
        self._api = api
        self._guarded: dict[int, tuple[int, int]] = {}
        """By buffer address: start of its guards, and its size including them."""
        self._mirrors: dict[tuple[int, int], Mirror] = {}
        self._sources: dict[int, tuple[Array, Any]] = {}

    def surround(self, buffer: memoryview, guarded: memoryview) -> None:
        self._guarded[_address(buffer)] = (_address(guarded), guarded.nbytes)

    def hold(self, buffers: Iterable[memoryview], sources: Iterable[Array] = ()) -> None:
        """Allocate memory for all of these. If the GPU's does not hold all workloads, those of others are evicted."""
        buffers, sources = list(buffers), list(sources)
        try:
            self._allocate(buffers, sources)
        except LaunchError:
            if not self._mirrors and not self._sources:
                raise
            self._free()
            self._allocate(buffers, sources)

    def of(self, buffer: memoryview) -> Mirror:
        """The mirror of a held buffer."""
        return self._mirrors[self._key(buffer)]

    def source(self, source: Array) -> Any:
        return self._sources[source.ctypes.data][1]

    def put(self, mirror: Mirror) -> None:
        """Copy from the host, unless it is up to date."""
        if not mirror.is_current:
            self._api.copy_in(mirror.memory, mirror.host_address, mirror.nbytes)
            mirror.is_current, mirror.contents = True, None

    def fetch(self, mirror: Mirror) -> None:
        self._api.copy_out(mirror.host_address, mirror.memory, mirror.nbytes)

    def outdate(self, buffers: Iterable[memoryview]) -> None:
        for buffer in buffers:
            if (mirror := self._mirrors.get(self._key(buffer))) is not None:
                mirror.is_current = False

    def _key(self, buffer: memoryview) -> tuple[int, int]:
        address = _address(buffer)
        return self._guarded.get(address, (address, buffer.nbytes))

    def _allocate(self, buffers: Iterable[memoryview], sources: Iterable[Array]) -> None:
        for buffer in buffers:
            begin, nbytes = key = self._key(buffer)
            if key not in self._mirrors:
                self._mirrors[key] = Mirror(self._api.allocate(nbytes), begin, nbytes, _address(buffer) - begin)
                # Copies are only slower without; if the context were lost, the next call would report it.
                with contextlib.suppress(LaunchError, ContextLost):
                    self._api.pin(begin, nbytes)
        for source in sources:
            if source.ctypes.data not in self._sources:
                memory = self._api.allocate(source.nbytes)
                self._sources[source.ctypes.data] = (source, memory)
                self._api.copy_in(memory, source.ctypes.data, source.nbytes)

    def _free(self) -> None:
        for mirror in self._mirrors.values():
            self._api.free(mirror.memory)
            with contextlib.suppress(LaunchError):
                self._api.unpin(mirror.host_address)
        for _, memory in self._sources.values():
            self._api.free(memory)
        self._mirrors.clear()
        self._sources.clear()


def _address(view: memoryview) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(view))
