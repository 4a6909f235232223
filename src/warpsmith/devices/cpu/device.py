"""The device itself: from a request to a native binary, and from a binary to a launch."""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import replace
from functools import cached_property

from warpsmith.core.errors import UnavailableError
from warpsmith.core.fingerprint import fingerprint
from warpsmith.core.hardware import Language, Resources
from warpsmith.devices._clang.binary import clang_binary, wheel_versions
from warpsmith.devices._clruntime.building import NOT_OPTIMISED, BuildError, build, resources
from warpsmith.devices._clruntime.limits import read_limits
from warpsmith.devices._clruntime.loader import load_cpu_runtime, platforms
from warpsmith.devices._clruntime.opencl_c import KIND, OpenClProgram, compile_opencl_c
from warpsmith.devices._clruntime.preprocess import opencl_tokens
from warpsmith.devices._clruntime.session import ClSession
from warpsmith.devices.base import Binary, CompileError, CompileRequest, DeviceInfo, Program
from warpsmith.devices.cpu import spirv
from warpsmith.devices.cpu.diagnostics import build_failure, unsupported_feature
from warpsmith.devices.cpu.entry import ENTRY
from warpsmith.devices.cpu.frontend import device_ir, preprocessed_tokens
from warpsmith.devices.cpu.lower import Lowered, lower, reserved_shared_bytes
from warpsmith.devices.cpu.opencl_c import mended
from warpsmith.devices.cpu.program import CpuProgram
from warpsmith.devices.cpu.watch.program import WatchedProgram

# 3.0, because atomics on generic pointers do not link below.
BUILD_OPTIONS = ("-cl-std=CL3.0",)
_NO_WARPS = "threads have no warps where the OpenCL runtime does not vectorise"
_REMEMBERED = 64  # modules with their binaries, a few hundred KiB each

# Words without which a source uses neither; they only decide how many launches may share a binary (`compile_key`).
_DYNAMIC_SHARED = re.compile(r"\bextern\b|DYNAMIC_SHARED|\b(?:__)?local\b")
# Shared memory too, for lanes may exchange values through it without a word (`ir.warp_exchange`).
_WARPS = re.compile(r"__(?:shfl|ballot|any|all|activemask|match|reduce|syncwarp)|warp|volatile|shared", re.IGNORECASE)
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*(\S+)", re.MULTILINE)
_PLAIN_HEADER = re.compile(
    r"<(?:cuda|hip/hip|device_launch|vector_|math|std|c?float|c?limits|c?assert|c(?:std)?\w+|type_traits)\w*(?:\.h)?>"
)


class CpuDevice:
    name = "cpu"
    watches = True
    runs_plainly = True

    def __init__(self) -> None:
        self._built: OrderedDict[tuple[bytes, bool], tuple[bytes, Resources]] = OrderedDict()

    @cached_property
    def _compiler(self) -> ClSession:
        return _open_session(None)

    def describe(self) -> DeviceInfo:
        clang_binary()  # a runtime alone compiles nothing
        device = self._compiler.device
        return DeviceInfo(
            name=self.name,
            description=device.name.strip(),
            limits=read_limits(device, warp_size=spirv.WARP_SIZE),
            languages=frozenset(Language),
            versions={**wheel_versions(), "runtime": device.driver_version},
        )

    def compile_key(self, request: CompileRequest) -> str:
        """Of the launch, only dynamic shared memory counts, and the block's shape where warps could run across its rows."""
        block = request.geometry.block
        across_rows = block[0] % spirv.WARP_SIZE != 0 and block[1] * block[2] > 1
        text = request.meaning or request.source
        return fingerprint(
            *request.identity,
            reserved_shared_bytes(request.geometry.shared_bytes) if _may_use(_DYNAMIC_SHARED, text) else None,
            block if across_rows and _may_use(_WARPS, text) else None,
        )

    def compile(self, request: CompileRequest) -> Binary:
        if request.language is Language.OPENCL:
            return self._compile_opencl(request)
        kernel = lower(device_ir(request), request)
        block = request.geometry.block
        # Sub-groups follow x only, warps the linear index.
        flat = kernel.uses_warps and block[0] % spirv.WARP_SIZE != 0 and block[1] * block[2] > 1
        if flat:
            shape = [f"-DWARPSMITH_FLAT_{axis}={size}" for axis, size in zip("XYZ", block, strict=True)]
            kernel = lower(device_ir(request, shape), request)
        return self._build(kernel, request, flat=flat)

    def _compile_opencl(self, request: CompileRequest) -> Binary:
        kernel = mended(request)
        if kernel is None:
            if request.plain and any("sub_group" in token for token in opencl_tokens(request)):
                raise CompileError(_NO_WARPS)
            return compile_opencl_c(self._compiler, request)
        block = request.geometry.block
        if kernel.uses_warps and block[0] % spirv.WARP_SIZE != 0 and block[1] * block[2] > 1:
            feature = f"OpenCL C that relies on warps, in blocks of {block[0]} x {block[1]} x {block[2]}"
            raise unsupported_feature(feature, str(request.source_file), 1, "make the first size a multiple of 32")
        return self._build(kernel, request, flat=False)

    def _build(self, kernel: Lowered, request: CompileRequest, *, flat: bool) -> Binary:
        if kernel.uses_warps and request.plain:
            raise CompileError(_NO_WARPS)
        code, used = self._native(kernel.module, plain=request.plain)
        asked = request.geometry.shared_bytes
        if used.shared_bytes is not None and kernel.uses_dynamic_shared:
            used = replace(used, shared_bytes=used.shared_bytes - reserved_shared_bytes(asked) + asked)
        if kernel.uses_warps and used.vector_width not in {None, spirv.WARP_SIZE}:
            raise CompileError(
                f"the OpenCL runtime gave the kernel {used.vector_width} lanes a warp instead of {spirv.WARP_SIZE}"
            )
        return Binary(
            code=code,
            entry=ENTRY,
            resources=used,
            device_data={
                "flat": flat,
                "can_trap": kernel.can_trap,
                "constants": ",".join(c.name for c in request.constants),
                "values": ",".join(map(str, kernel.values)),
                **({"watch": replace(kernel.watch, shared_bytes=used.shared_bytes or 0).packed()} if kernel.watch else {}),
            },
        )

    def _native(self, module: bytes, *, plain: bool) -> tuple[bytes, Resources]:
        """Choices that mean nothing here (launch bounds, read-only loads) leave the same module, which is built once."""
        known = self._built.get((module, plain))
        if known is not None:
            self._built.move_to_end((module, plain))
            return known
        session = self._compiler
        cl = session.cl
        try:
            program = build(cl, cl.Program(session.context, module), (*BUILD_OPTIONS, *((NOT_OPTIMISED,) if plain else ())))
        except BuildError as error:
            raise CompileError(build_failure(str(error)), str(error)) from error
        found = program.binaries[0], resources(cl, program, cl.Kernel(program, ENTRY), session.device)
        self._built[module, plain] = found
        if len(self._built) > _REMEMBERED:
            self._built.popitem(last=False)
        return found

    def preprocess(self, request: CompileRequest) -> list[str]:
        return opencl_tokens(request) if request.language is Language.OPENCL else preprocessed_tokens(request)

    def open(self, compute_units: int | None = None) -> CpuSession:
        return CpuSession(_open_session(compute_units))


class CpuSession:
    def __init__(self, session: ClSession) -> None:
        self._session = session

    def load(self, binary: Binary) -> Program:
        if binary.device_data.get("kind") == KIND:
            return OpenClProgram(self._session, binary)
        return (WatchedProgram if "watch" in binary.device_data else CpuProgram)(self._session, binary)


def _may_use(words: re.Pattern[str], source: str) -> bool:
    """Conservative: headers other than those of the language and the CUDA API may hold anything."""
    return words.search(source) is not None or any(not _PLAIN_HEADER.fullmatch(name) for name in _INCLUDE.findall(source))


def _open_session(compute_units: int | None) -> ClSession:
    cl = load_cpu_runtime(compute_units)
    for platform in platforms(cl):
        for device in platform.get_devices(cl.device_type.CPU):
            return ClSession(cl, device)
    raise UnavailableError("the OpenCL CPU runtime shows no device", hint="pip install intel-cmplr-lib-rt tbb")
