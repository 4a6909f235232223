"""The few calls of a vendor's runtime that launching takes. Implementations raise LaunchError, or ContextLost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from warpsmith.core.hardware import Counters, Geometry, NotCounted, Reading


class GpuApi(Protocol):
    """One GPU, its context current in this thread, with one stream and two events."""

    cache_bytes: int  # of the last-level cache; 0 if the runtime does not tell

    def allocate(self, nbytes: int) -> Any: ...

    def free(self, memory: Any) -> None: ...

    def address(self, memory: Any) -> int: ...

    def copy_in(self, memory: Any, host_address: int, nbytes: int) -> None: ...

    def copy_out(self, host_address: int, memory: Any, nbytes: int) -> None: ...

    def copy(self, to: Any, memory: Any, nbytes: int) -> None:
        """From memory of the device to memory of the device, in the stream."""
        ...

    def pin(self, host_address: int, nbytes: int) -> None:
        """Keep these pages where they are, so that copies need no other memory on their way."""
        ...

    def unpin(self, host_address: int) -> None: ...

    def fill(self, memory: Any, nbytes: int) -> None:
        """Zeros, in the stream."""
        ...

    def load(self, code: bytes) -> Any: ...

    def unload(self, module: Any) -> None: ...

    def kernel(self, module: Any, name: str) -> Any: ...

    def variable(self, module: Any, name: str) -> tuple[Any, int]:
        """Memory and size of a `__constant__` or `__device__` variable."""
        ...

    def allow_shared(self, kernel: Any, nbytes: int) -> None:
        """Let launches ask for so much dynamic shared memory."""
        ...

    def launch(self, kernel: Any, geometry: Geometry, parameters: int) -> None:
        """In the stream; `parameters` is the address of an array with the addresses of the parameters."""
        ...

    def start_clock(self) -> None: ...

    def stop_clock(self) -> int:
        """Wait for the stream; nanoseconds since `start_clock`."""
        ...

    def reading(self) -> Reading | None:
        """Clock and power, if the system tells."""
        ...

    def counters(self, prepare: Callable[[], None], launch: Callable[[], None], duration_ns: int) -> Counters | NotCounted:
        """Of launches, each `prepare`d and waited for; one took `duration_ns` before."""
        ...
