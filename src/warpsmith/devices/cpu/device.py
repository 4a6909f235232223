"""The CPU device: its description, and launches of binaries. `compiling` builds the binaries."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from warpsmith.core.errors import UnavailableError
from warpsmith.core.fingerprint import fingerprint
from warpsmith.core.hardware import Geometry, Language
from warpsmith.devices._clang.binary import clang_binary, wheel_versions
from warpsmith.devices._clruntime.limits import read_limits
from warpsmith.devices._clruntime.loader import load_cpu_runtime, platforms
from warpsmith.devices._clruntime.opencl_c import KIND, OpenClProgram
from warpsmith.devices._clruntime.session import ClSession
from warpsmith.devices.base import Binary, CompileRequest, DeviceInfo, Program
from warpsmith.devices.cpu import spirv
from warpsmith.devices.cpu.program import CpuProgram
from warpsmith.devices.cpu.shared_memory import reserved_shared_bytes
from warpsmith.devices.cpu.watch.program import WatchedProgram
from warpsmith.devices.memory import PIECE_BYTES, Filling

if TYPE_CHECKING:
    from warpsmith.devices.cpu.compiling import Compiler

# A source without these words uses neither; they only decide how many launches may share a binary (`compile_key`).
_DYNAMIC_SHARED = re.compile(r"\bextern\b|DYNAMIC_SHARED|\b(?:__)?local\b")
# Includes shared memory, because lanes may exchange values through it without a keyword (`ir.warp_exchange`).
_WARPS = re.compile(r"__(?:shfl|ballot|any|all|activemask|match|reduce|syncwarp)|warp|volatile|shared", re.IGNORECASE)
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*(\S+)", re.MULTILINE)
_PLAIN_HEADER = re.compile(
    r"<(?:cuda|hip/hip|device_launch|vector_|math|std|c?float|c?limits|c?assert|c(?:std)?\w+|type_traits)\w*(?:\.h)?>"
)


class CpuDevice:
    name = "cpu"
    watches = True
    runs_plainly = True

    @cached_property
    def _session(self) -> ClSession:
        return _open_session(None)

    @cached_property
    def _compiler(self) -> Compiler:
        from warpsmith.devices.cpu.compiling import Compiler  # noqa: PLC0415 - who only launches does not wait for it

        return Compiler(lambda: self._session)

    def describe(self) -> DeviceInfo:
        clang_binary()  # a runtime alone compiles nothing
        device = self._session.device
        return DeviceInfo(
            name=self.name,
            description=device.name.strip(),
            limits=read_limits(device, warp_size=spirv.WARP_SIZE),
            languages=frozenset(Language),
            versions={**wheel_versions(), "runtime": device.driver_version},
        )

    def compile_key(self, request: CompileRequest) -> str:
        """The relevant parts of the launch: dynamic shared memory, and the block's shape if warps could span rows."""
        block = request.geometry.block
        across_rows = block[0] % spirv.WARP_SIZE != 0 and block[1] * block[2] > 1
        text = request.meaning or request.source
        return fingerprint(
            *request.identity,
            reserved_shared_bytes(request.geometry.shared_bytes) if _may_use(_DYNAMIC_SHARED, text) else None,
            block if across_rows and _may_use(_WARPS, text) else None,
        )

    def compile(self, request: CompileRequest) -> Binary:
        return self._compiler.compile(request)

    def instructions(self, binary: Binary) -> list[str]:
        from warpsmith.devices.cpu.disassembly import instructions  # noqa: PLC0415 - few ask

        return instructions(binary.code)

    def preprocess(self, request: CompileRequest) -> list[str]:
        return self._compiler.preprocess(request)

    def open(self, compute_units: int | None = None) -> CpuSession:
        return CpuSession(_open_session(compute_units))


class CpuSession:
    def __init__(self, session: ClSession) -> None:
        self._session = session
        self._filler: Program | None = None

    def fill_with(self, filler: Binary) -> None:
        self._filler = self.load(filler)

    def fill_past_caches(self, fillings: Sequence[Filling]) -> bool:
        if self._filler is None:
            return False
        for filling in fillings:
            numbers = (number.to_bytes(8, "little") for number in (filling.buffer.nbytes, *filling.contents.numbers))
            pieces = -(-filling.buffer.nbytes // PIECE_BYTES)
            self._filler.launch((filling.buffer, filling.source.data, *numbers), Geometry((pieces, 1, 1), (1, 1, 1)))
        return True

    def load(self, binary: Binary) -> Program:
        if binary.device_data.get("kind") == KIND:
            return OpenClProgram(self._session, binary)
        return (WatchedProgram if "watch" in binary.device_data else CpuProgram)(self._session, binary)


def _may_use(words: re.Pattern[str], source: str) -> bool:
    """Conservative: headers other than those of the language and the CUDA API may contain anything."""
    return words.search(source) is not None or any(not _PLAIN_HEADER.fullmatch(name) for name in _INCLUDE.findall(source))


def _open_session(compute_units: int | None) -> ClSession:
    cl = load_cpu_runtime(compute_units)
    for platform in platforms(cl):
        for device in platform.get_devices(cl.device_type.CPU):
            return ClSession(cl, device, one_thread=compute_units == 1)
    raise UnavailableError("the OpenCL CPU runtime shows no device", hint="pip install intel-cmplr-lib-rt tbb")
