"""A loaded binary of the CPU device: launches, reads the trap record after each launch, fills `__constant__` symbols."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any

from warpsmith.core.hardware import Geometry
from warpsmith.devices._clruntime.session import ClSession
from warpsmith.devices.base import Binary, LaunchError
from warpsmith.devices.cpu.entry import READ_TRAP, SET_CONSTANT
from warpsmith.devices.cpu.ir.globals import RESET
from warpsmith.devices.cpu.ir.subscripts import MAX_BUFFER_BYTES

_TRAP_KINDS = {1: "device assert failed", 2: "device trap", 3: "threads of a block disagree about reaching a barrier: branch"}


class CpuProgram:
    def __init__(self, session: ClSession, binary: Binary) -> None:
        self._session = session
        self._program = session.load_binary(binary.code)
        self._entry = self.kernel(binary.entry)
        self._read_trap = self.kernel(READ_TRAP) if binary.device_data["can_trap"] else None
        self._reset = self.kernel(RESET) if binary.device_data.get("has_reset") else None
        self._trap = memoryview((ctypes.c_int * 2)()).cast("B")
        self._flat = bool(binary.device_data["flat"])
        self._values = frozenset(int(index) for index in str(binary.device_data["values"]).split(",") if index)
        self._constants = [name for name in str(binary.device_data["constants"]).split(",") if name]

    def launch(self, arguments: tuple[memoryview | bytes | None, ...], geometry: Geometry) -> int:
        largest = max((a.nbytes for a in arguments if isinstance(a, memoryview)), default=0)
        if largest > MAX_BUFFER_BYTES:
            raise LaunchError(f"a buffer of {largest} bytes: the CPU device takes at most {MAX_BUFFER_BYTES}")
        block = (geometry.threads_per_block, 1, 1) if self._flat else geometry.block
        size = (geometry.grid[0] * block[0], geometry.grid[1] * block[1], geometry.grid[2] * block[2])
        passed = tuple(bytes(a) if i in self._values and a is not None else a for i, a in enumerate(arguments))
        nanoseconds = self._session.launch(self._entry, passed, size, block)
        if self._read_trap is not None:
            self._raise_trap()
        return nanoseconds

    def reset(self) -> bool:
        if self._reset is None:
            return False
        self._session.launch(self._reset, (), (1, 1, 1), (1, 1, 1))
        return True

    def set_constants(self, values: Mapping[str, bytes]) -> None:
        for name, value in values.items():
            setter = self.kernel(f"{SET_CONSTANT}{self._constants.index(name)}")
            size = ctypes.c_long()
            data = memoryview(bytearray(value))
            self._session.launch(
                setter, (data, len(value).to_bytes(8, "little"), memoryview(size).cast("B")), (1, 1, 1), (1, 1, 1)
            )
            if len(value) > size.value:
                raise LaunchError(f"{len(value)} bytes do not fit __constant__ {name} of {size.value} bytes")

    def _raise_trap(self) -> None:
        self._session.launch(self._read_trap, (self._trap,), (1, 1, 1), (1, 1, 1))
        kind, line = self._trap.cast("i")
        if kind:
            raise LaunchError(f"{_TRAP_KINDS.get(kind, f'device failure {kind}')} at line {line}")

    def kernel(self, name: str) -> Any:
        return self._session.cl.Kernel(self._program, name)
