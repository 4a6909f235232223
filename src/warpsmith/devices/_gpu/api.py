"""The calls of a vendor's runtime that launching needs. Implementations raise LaunchError, or ContextLost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from warpsmith.core.hardware import Counters, Geometry, NotCounted, Reading


class GpuApi(Protocol):
    """One GPU, with its context current in this thread, one stream and two events."""

    cache_bytes: int  # of the last-level cache; 0 if the runtime does not tell

    def allocate(self, nbytes: int) -> Any: ...

    def free(self, memory: Any) -> None: ...

    def address(self, memory: Any) -> int: ...

    def copy_in(self, memory: Any, host_address: int, nbytes: int) -> None: ...

    def copy_out(self, host_address: int, memory: Any, nbytes: int) -> None: ...

    def copy(self, to: Any, memory: Any, nbytes: int) -> None:
        """Copy between device buffers, in the stream."""
        ...

    def pin(self, host_address: int, nbytes: int) -> None:
        """Pin these pages, so that copies need no staging memory."""
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
        """Allow launches this much dynamic shared memory."""
        ...

    def launch(self, kernel: Any, geometry: Geometry, parameters: int) -> None:
        """In the stream; `parameters` is the address of an array with the addresses of the parameters."""
        ...

    def start_clock(self) -> None: ...

    def stop_clock(self) -> int:
        """Wait for the stream; nanoseconds since `start_clock`."""
        ...

    def reading(self) -> Reading | None:
        """Clock and power, if the system reports them."""
        ...

    def counters(self, prepare: Callable[[], None], launch: Callable[[], None], duration_ns: int) -> Counters | NotCounted:
        """Counters of launches, each `prepare`d and waited for; an earlier one took `duration_ns`."""
        ...
