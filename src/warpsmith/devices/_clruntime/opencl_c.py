"""Compiles OpenCL C with the runtime itself and launches it unchanged."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from warpsmith.core.errors import UnsupportedFeature
from warpsmith.core.hardware import Geometry
from warpsmith.core.opencl_types import HOST_HANDLE
from warpsmith.devices._clang.preprocess import macros
from warpsmith.devices._clruntime.building import NOT_OPTIMISED, BuildError, build, resources
from warpsmith.devices._clruntime.session import ClSession
from warpsmith.devices.base import Binary, CompileError, CompileRequest, LaunchError

KIND = "opencl-c"
_ERROR = re.compile(r"^(?:<[^>]*>|[^\s:]*):?(?P<line>\d+):\d+: (?:fatal )?error: (?P<text>.*)$", re.MULTILINE)


def compile_opencl_c(session: ClSession, request: CompileRequest) -> Binary:
    """Raises CompileError or UnsupportedFeature."""
    cl, device = session.cl, session.device
    options = [f"-D{macro}" for macro in macros(request.defines)]
    options += [flag for folder in (request.source_file.parent, *request.include_dirs) for flag in ("-I", str(folder))]
    options.append("-cl-kernel-arg-info")
    if device.opencl_c_version.startswith("OpenCL C 3"):
        options.append("-cl-std=CL3.0")
    if request.plain:
        options.append(NOT_OPTIMISED)
    try:
        program = build(cl, cl.Program(session.context, request.source), options)
        kernel = cl.Kernel(program, request.entry)
    except BuildError as error:
        raise _compile_error(str(error), request) from error
    except cl.Error as error:
        names = ", ".join(sorted(k.function_name for k in program.all_kernels()))
        raise CompileError(f"{request.source_file.name} has no kernel {request.entry!r}; it has: {names}") from error
    spaces = [kernel.get_arg_info(i, cl.kernel_arg_info.ADDRESS_QUALIFIER) for i in range(kernel.num_args)]
    _refuse_images(kernel, cl, request)
    local = [i for i, space in enumerate(spaces) if space == cl.kernel_arg_address_qualifier.LOCAL]
    values = [i for i, space in enumerate(spaces) if space == cl.kernel_arg_address_qualifier.PRIVATE]
    if kernel.num_args - len(local) != len(request.parameters):
        got = f"{kernel.num_args - len(local)} parameters besides its __local ones"
        raise CompileError(f"the kernel {request.entry} takes {got}; {len(request.parameters)} are given")
    return Binary(
        code=program.binaries[0],
        entry=request.entry,
        resources=resources(cl, program, kernel, device),
        device_data={
            "kind": KIND,
            "local_parameters": ",".join(map(str, local)),
            "values": ",".join(map(str, values)),
            **_lasting(cl, program, device),
        },
    )


def _lasting(cl: Any, program: Any, device: Any) -> dict[str, str]:
    """The runtime only reports the total size of all variables outside functions, constants included."""
    try:
        total = int(program.get_build_info(device, cl.program_build_info.GLOBAL_VARIABLE_TOTAL_SIZE))
    except cl.Error:  # before OpenCL 2 there are none
        return {}
    return {"lasting": json.dumps({"": total})} if total else {}


def _refuse_images(kernel: Any, cl: Any, request: CompileRequest) -> None:
    for index in range(kernel.num_args):
        name = str(kernel.get_arg_info(index, cl.kernel_arg_info.TYPE_NAME))
        if HOST_HANDLE.fullmatch(name):
            where = f"{request.source_file.name}: parameter {index + 1} of {request.entry}"
            hint = "read from and write to plain global memory instead"
            raise UnsupportedFeature(f"{where} is of type {name}; only buffers and values can be passed", hint=hint)


def _compile_error(log: str, request: CompileRequest) -> CompileError:
    match = _ERROR.search(log)
    reason = (
        f"{request.source_file.name}:{match['line']}: {match['text']}"
        if match
        else "the OpenCL runtime could not build the kernel"
    )
    kept = [line for line in log.splitlines() if not line.startswith(("Compilation ", "Options used"))]
    return CompileError(reason, "\n".join(kept).strip())


class OpenClProgram:
    """A loaded binary. `__local` pointer parameters share the launch's dynamic shared bytes equally."""

    def __init__(self, session: ClSession, binary: Binary) -> None:
        self._session = session
        self._program = session.load_binary(binary.code)
        self._kernel: Any = session.cl.Kernel(self._program, binary.entry)
        self._local, self._values = (
            [int(index) for index in str(binary.device_data[kind]).split(",") if index] for kind in ("local_parameters", "values")
        )

    def launch(self, arguments: tuple[memoryview | bytes | None, ...], geometry: Geometry) -> int:
        passed: list[Any] = list(arguments)
        for index in self._local:
            share = geometry.shared_bytes // len(self._local)
            if share == 0:
                raise LaunchError(f"parameter {index + 1} is __local and has no size; hint: give [launch] shared = bytes")
            passed.insert(index, self._session.cl.LocalMemory(share))
        for index in self._values:  # a vector or a structure, which kernel.toml describes as a buffer
            passed[index] = bytes(passed[index] or b"")
        block = geometry.block
        size = (geometry.grid[0] * block[0], geometry.grid[1] * block[1], geometry.grid[2] * block[2])
        return self._session.launch(self._kernel, tuple(passed), size, block)

    def set_constants(self, values: Mapping[str, bytes]) -> None:
        if values:
            raise LaunchError(f"OpenCL C has no constants that the host could fill: {', '.join(values)}")
