"""Compiles a request to a native binary."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

from warpsmith.core.hardware import Language, Resources
from warpsmith.devices._clruntime.building import NOT_OPTIMISED, BuildError, build, resources
from warpsmith.devices._clruntime.opencl_c import compile_opencl_c
from warpsmith.devices._clruntime.preprocess import opencl_tokens
from warpsmith.devices._clruntime.session import ClSession
from warpsmith.devices.base import Binary, CompileError, CompileRequest
from warpsmith.devices.cpu import spirv
from warpsmith.devices.cpu.diagnostics import build_failure, unsupported_feature
from warpsmith.devices.cpu.entry import ENTRY
from warpsmith.devices.cpu.frontend import device_ir, preprocessed_tokens
from warpsmith.devices.cpu.lower import Lowered, lower
from warpsmith.devices.cpu.opencl_c import mended
from warpsmith.devices.cpu.shared_memory import reserved_shared_bytes

# 3.0, because atomics on generic pointers do not link below.
BUILD_OPTIONS = ("-cl-std=CL3.0",)
_NO_WARPS = "threads have no warps where the OpenCL runtime does not vectorise"
_REMEMBERED = 64  # modules with their binaries, a few hundred KiB each


class Compiler:
    def __init__(self, open_session: Callable[[], ClSession]) -> None:
        self._open_session = open_session
        self._built: OrderedDict[tuple[bytes, bool], tuple[bytes, Resources]] = OrderedDict()

    @cached_property
    def _session(self) -> ClSession:
        return self._open_session()

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
            return compile_opencl_c(self._session, request)
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
                "has_reset": kernel.has_reset,
                "constants": ",".join(c.name for c in request.constants),
                "values": ",".join(map(str, kernel.values)),
                **({"lasting": json.dumps(dict(kernel.lasting))} if kernel.lasting else {}),
                **({"watch": replace(kernel.watch, shared_bytes=used.shared_bytes or 0).packed()} if kernel.watch else {}),
            },
        )

    def _native(self, module: bytes, *, plain: bool) -> tuple[bytes, Resources]:
        """Attributes without meaning here (launch bounds, read-only loads) give the same module, which is built once."""
        known = self._built.get((module, plain))
        if known is not None:
            self._built.move_to_end((module, plain))
            return known
        session = self._session
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
