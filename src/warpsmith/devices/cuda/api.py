"""Driver calls that implement `GpuApi` for one GPU: its primary context is current in this thread for the life of the process."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from warpsmith.core.hardware import Counters, Geometry, NotCounted, Reading
from warpsmith.devices.base import LaunchError
from warpsmith.devices.cuda import nvml
from warpsmith.devices.cuda.counters import Run, count
from warpsmith.devices.cuda.driver import call, driver, text

_NS_PER_MS = 1_000_000
_BUS_ID_BYTES = 32


class CudaApi:
    def __init__(self, device: Any, *, cache_bytes: int) -> None:
        self.cache_bytes = cache_bytes
        self._index = int(device)
        call("cuCtxSetCurrent", call("cuDevicePrimaryCtxRetain", device))
        self._stream = call("cuStreamCreate", 0)
        self._began = call("cuEventCreate", 0)
        self._ended = call("cuEventCreate", 0)
        self._bus_id = ""
        with contextlib.suppress(LaunchError):  # only for readings
            self._bus_id = text(call("cuDeviceGetPCIBusId", _BUS_ID_BYTES, device))

    def allocate(self, nbytes: int) -> Any:
        return call("cuMemAlloc", nbytes)

    def free(self, memory: Any) -> None:
        call("cuMemFree", memory)

    def address(self, memory: Any) -> int:
        return int(memory)

    def copy_in(self, memory: Any, host_address: int, nbytes: int) -> None:
        call("cuMemcpyHtoD", memory, host_address, nbytes)

    def copy_out(self, host_address: int, memory: Any, nbytes: int) -> None:
        call("cuMemcpyDtoH", host_address, memory, nbytes)

    def copy(self, to: Any, memory: Any, nbytes: int) -> None:
        call("cuMemcpyDtoDAsync", to, memory, nbytes, self._stream)

    def pin(self, host_address: int, nbytes: int) -> None:
        call("cuMemHostRegister", host_address, nbytes, 0)

    def unpin(self, host_address: int) -> None:
        call("cuMemHostUnregister", host_address)

    def fill(self, memory: Any, nbytes: int) -> None:
        call("cuMemsetD8Async", memory, 0, nbytes, self._stream)

    def load(self, code: bytes) -> Any:
        return call("cuModuleLoadData", code)

    def unload(self, module: Any) -> None:
        call("cuModuleUnload", module)

    def kernel(self, module: Any, name: str) -> Any:
        return call("cuModuleGetFunction", module, name.encode())

    def variable(self, module: Any, name: str) -> tuple[Any, int]:
        memory, size = call("cuModuleGetGlobal", module, name.encode())
        return memory, int(size)

    def allow_shared(self, kernel: Any, nbytes: int) -> None:
        """Above 48 KiB a kernel has to opt in; below, the call is harmless."""
        attribute = driver().CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        call("cuFuncSetAttribute", kernel, attribute, nbytes)

    def launch(self, kernel: Any, geometry: Geometry, parameters: int) -> None:
        call("cuLaunchKernel", kernel, *geometry.grid, *geometry.block, geometry.shared_bytes, self._stream, parameters, 0)

    def start_clock(self) -> None:
        call("cuEventRecord", self._began, self._stream)

    def stop_clock(self) -> int:
        call("cuEventRecord", self._ended, self._stream)
        call("cuEventSynchronize", self._ended)
        return round(float(call("cuEventElapsedTime", self._began, self._ended)) * _NS_PER_MS)

    def reading(self) -> Reading | None:
        return nvml.read(self._bus_id) if self._bus_id else None

    def counters(self, prepare: Callable[[], None], launch: Callable[[], None], duration_ns: int) -> Counters | NotCounted:
        return count(self._index, Run(prepare, launch, duration_ns))
