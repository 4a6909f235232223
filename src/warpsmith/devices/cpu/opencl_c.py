"""Repairs OpenCL C that the runtime would miscompile: early returns before a barrier, unsynchronised exchange, divergent loops.

The runtime compiles OpenCL C itself, and well, but assumes that it follows the standard. Real kernels return early, finish
reductions warp-synchronously, or overwrite values that others still read, and GPUs tolerate that. Such kernels, and only such,
go through clang and the same passes as CUDA (`lower`).
"""

from __future__ import annotations

import re
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from warpsmith.devices._clang.preprocess import begins, definitions, parse_log
from warpsmith.devices.base import CompileError, CompileRequest
from warpsmith.devices.cpu import clang
from warpsmith.devices.cpu.entry import ENTRY, READ_TRAP, TRAP, kernel_names
from warpsmith.devices.cpu.ir.module import Module
from warpsmith.devices.cpu.ir.points_to import operands
from warpsmith.devices.cpu.ir.warp_synchronous import declare_barrier
from warpsmith.devices.cpu.lower import Lowered, is_parted, made_safe, translated, translated_watched
from warpsmith.devices.cpu.shared_memory import LOCAL_PARAMETER, reserved_shared_bytes
from warpsmith.devices.cpu.watch.instrument import mark_meetings

# Without shared memory and barriers threads cannot interfere, and without loops they do not diverge. Included files may contain
# anything.
_MAY_RACE = re.compile(r"\b(?:__)?local\b|\bbarrier\b|\bwork_group_barrier\b|^[ \t]*#[ \t]*include\b", re.MULTILINE)
_MAY_PART = re.compile(r"\bfor\b|\bwhile\b|\bgoto\b")
_BARRIER_CALL = re.compile(r"call spir_func void @_Z(?:7barrier|18work_group_barrier)\w*\([^)]*\)")
_BLOCK_BARRIER = "call spir_func void @_Z22__spirv_ControlBarrieriii(i32 2, i32 2, i32 776)"
_KERNEL_METADATA = re.compile(r" !kernel_arg_\w+ !\d+")
_LOCAL_PARAMETER = re.compile(r"^ptr addrspace\(3\) .*(%[\w.]+)$")
_OPAQUE = 'target("spirv.'  # images and their like
_POINTER = re.compile(r"^ptr addrspace\(")
_TAIL = f"""
#line 1 "warpsmith-entry"
__global int {TRAP}[2];
__kernel void {READ_TRAP}(__global int* out) {{
  for (int i = 0; i < 2; ++i) {{ out[i] = {TRAP}[i]; {TRAP}[i] = 0; }}
}}
"""


def mended(request: CompileRequest) -> Lowered | None:
    """The kernel as SPIR-V without its races, or None if there is nothing to mend. Raises CompileError or UnsupportedFeature.

    What is to be watched is always taken.
    """
    may_race = request.watched or _MAY_RACE.search(request.source) is not None
    may_part = not request.plain and _MAY_PART.search(request.source) is not None
    if not may_race and not may_part:
        return None
    text = f"{definitions(request.defines)}{begins(request.source_file)}{request.source}{_TAIL}"
    result = clang.opencl_to_ir(text, (request.source_file.parent, *request.include_dirs, *_bindings_folders()))
    if not result.succeeded:
        if not may_race:
            return None  # the runtime knows more dialects, and has its own words for what is wrong
        raise _failure(result.log)
    ir = _BARRIER_CALL.sub(_BLOCK_BARRIER, result.output.decode())
    # The runtime must find the kernel under the name that `lower` and `program` know.
    module = Module(re.sub(rf"@{re.escape(request.entry)}\(", f"@{ENTRY}(", ir))
    declare_barrier(module)
    if ENTRY not in module.functions or _OPAQUE in module.functions[ENTRY][0]:
        return None  # the runtime will say which kernels there are, and what they take
    values = _bind_local_parameters(module, request)
    if request.watched:
        mark_meetings(module)
    # Watching reports races whether or not hardware tolerates them, and warps do not fit every block here.
    safe, needed = made_safe(module, request, in_step=not request.watched)
    if request.watched:
        return replace(translated_watched(safe, request), values=values)
    needed = needed or (may_part and is_parted(safe, kernel_names(len(request.constants))))
    return replace(translated(safe, request), values=values) if needed else None


def _bindings_folders() -> list[Path]:
    """Headers (complex numbers, random numbers) that pyopencl offers to every program it builds."""
    spec = find_spec("pyopencl")
    return [Path(folder) / "cl" for folder in (spec.submodule_search_locations or ())] if spec else []


def _bind_local_parameters(module: Module, request: CompileRequest) -> tuple[int, ...]:
    """Turns `__local` parameters into variables, each with its share of the launch's shared bytes. Which others are values."""
    header, *body = module.functions[ENTRY]
    opening = header.index(f"@{ENTRY}(") + len(ENTRY) + 2
    closing = header.index(") #", opening)
    parameters = operands(header[opening:closing]) if closing > opening else ()
    local = {match[1]: f"{LOCAL_PARAMETER}{index}" for index, p in enumerate(parameters) if (match := _LOCAL_PARAMETER.match(p))}
    others = [parameter for parameter in parameters if not _LOCAL_PARAMETER.match(parameter)]
    if len(others) != len(request.parameters):
        takes = f"{len(others)} parameters besides its __local ones"
        raise CompileError(f"the kernel {request.entry} takes {takes}; {len(request.parameters)} are given")
    header = header[:opening] + ", ".join(others) + _KERNEL_METADATA.sub("", header[closing:])
    for parameter, variable in local.items():
        pattern = re.compile(rf"{re.escape(parameter)}(?![\w.])")
        body = [pattern.sub(f"@{variable}", line) for line in body]
        share = max(reserved_shared_bytes(request.geometry.shared_bytes) // len(local), 1)
        module.pieces.append((variable, [f"@{variable} = internal addrspace(3) global [{share} x i8] undef, align 128"]))
    module.replace(ENTRY, [header, *body])
    return tuple(index for index, parameter in enumerate(others) if not _POINTER.match(parameter))


def _failure(log: str) -> CompileError:
    error = next((diagnostic for diagnostic in parse_log(log) if diagnostic.is_error), None)
    if error is None:
        return CompileError("clang failed without an error message", log)
    return CompileError(f"{Path(error.file).name}:{error.line}: {error.text}", log)
