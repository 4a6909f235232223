"""HIP runtime calls that implement `GpuApi` for one GPU, current in this thread for the life of the process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from warpsmith.core.hardware import Counters, Geometry, NotCounted, Reading
from warpsmith.devices.base import LaunchError
from warpsmith.devices.hip import amdsmi
from warpsmith.devices.hip.runtime import call, runtime

_NS_PER_MS = 1_000_000
_NO_SYSTEM_FENCE = 0x20000000  # hipEventDisableSystemFence; copies and waiting for the stream still have theirs


class HipApi:
    def __init__(self, index: int, *, cache_bytes: int, bus_id: str) -> None:
        self.cache_bytes = cache_bytes
        self._bus_id = bus_id
        call("hipSetDevice", index)
        self._kinds = runtime().hipMemcpyKind
        self._stream = call("hipStreamCreate")
        # By default, events make all earlier memory operations visible to the whole system, which takes time.
        self._began, self._ended = _event(), _event()

    def allocate(self, nbytes: int) -> Any:
        return call("hipMalloc", nbytes)

    def free(self, memory: Any) -> None:
        call("hipFree", memory)

    def address(self, memory: Any) -> int:
        return int(memory)

    def copy_in(self, memory: Any, host_address: int, nbytes: int) -> None:
        call("hipMemcpy", memory, host_address, nbytes, self._kinds.hipMemcpyHostToDevice)

    def copy_out(self, host_address: int, memory: Any, nbytes: int) -> None:
        call("hipMemcpy", host_address, memory, nbytes, self._kinds.hipMemcpyDeviceToHost)

    def copy(self, to: Any, memory: Any, nbytes: int) -> None:
        call("hipMemcpyDtoDAsync", to, memory, nbytes, self._stream)

    def pin(self, host_address: int, nbytes: int) -> None:
        call("hipHostRegister", host_address, nbytes, 0)

    def unpin(self, host_address: int) -> None:
        call("hipHostUnregister", host_address)

    def fill(self, memory: Any, nbytes: int) -> None:
        call("hipMemsetAsync", memory, 0, nbytes, self._stream)

    def load(self, code: bytes) -> Any:
        return call("hipModuleLoadData", code)

    def unload(self, module: Any) -> None:
        call("hipModuleUnload", module)

    def kernel(self, module: Any, name: str) -> Any:
        return call("hipModuleGetFunction", module, name.encode())

    def variable(self, module: Any, name: str) -> tuple[Any, int]:
        memory, size = call("hipModuleGetGlobal", module, name.encode())
        return memory, int(size)

    def allow_shared(self, kernel: Any, nbytes: int) -> None:
        """AMD kernels need not opt in."""

    def launch(self, kernel: Any, geometry: Geometry, parameters: int) -> None:
        call(
            "hipModuleLaunchKernel",
            kernel,
            *geometry.grid,
            *geometry.block,
            geometry.shared_bytes,
            self._stream,
            parameters,
            None,
        )

    def start_clock(self) -> None:
        call("hipEventRecord", self._began, self._stream)

    def stop_clock(self) -> int:
        call("hipEventRecord", self._ended, self._stream)
        call("hipEventSynchronize", self._ended)
        return round(float(call("hipEventElapsedTime", self._began, self._ended)) * _NS_PER_MS)

    def reading(self) -> Reading | None:
        return amdsmi.read(self._bus_id)

    def counters(self, prepare: Callable[[], None], launch: Callable[[], None], duration_ns: int) -> Counters | NotCounted:  # noqa: ARG002 - the protocol's
        return NotCounted("counters are read on NVIDIA GPUs only")


def _event() -> Any:
    try:
        return call("hipEventCreateWithFlags", _NO_SYSTEM_FENCE)
    except LaunchError:  # of a runtime that is older than the flag
        return call("hipEventCreateWithFlags", 0)
