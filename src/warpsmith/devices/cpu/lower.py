"""From the IR of a translation unit to SPIR-V for one kernel: the unreachable dropped, dynamic shared memory bound, asm refused."""

from __future__ import annotations

import re
from dataclasses import dataclass

from warpsmith.devices.base import CompileError, CompileRequest
from warpsmith.devices.cpu import clang, spirv
from warpsmith.devices.cpu.convergence import HiddenBarrier, with_safe_barriers
from warpsmith.devices.cpu.diagnostics import unsupported_feature
from warpsmith.devices.cpu.entry import ENTRY, GENERATED_FILE, READ_TRAP, SET_CONSTANT, TRAP
from warpsmith.devices.cpu.ir.module import NAME, Module
from warpsmith.devices.cpu.ir.saturation import write_out_saturating_casts
from warpsmith.devices.cpu.ir.warp_synchronous import keep_warps_in_step

_EXTERN_SHARED = re.compile(rf"^@({NAME}) = external .*addrspace\(3\) global ")
_DYNAMIC_SHARED = "__warpsmith_dynamic_shared"
_ASM = re.compile(r'\basm (?:sideeffect |alignstack |inteldialect )*"((?:[^"\\]|\\.)*)"')
_GENERATED = (str(clang.INCLUDE), str(clang.INCLUDE.parent), GENERATED_FILE, "<")


@dataclass(frozen=True, slots=True)
class Lowered:
    module: bytes
    uses_warps: bool
    can_trap: bool


def lower(module: Module, request: CompileRequest) -> Lowered:
    _bind_dynamic_shared(module, request.geometry.shared_bytes)
    setters = [f"{SET_CONSTANT}{index}" for index in range(len(request.constants))]
    module.keep_reachable([ENTRY, READ_TRAP, *setters])
    _refuse_assembly(module, request)
    write_out_saturating_casts(module)
    keep_warps_in_step(module)
    module = _with_safe_barriers(module, [ENTRY, READ_TRAP, *setters], request)
    can_trap = any(f"@{TRAP}" in line for name, lines in module.functions.items() if name != READ_TRAP for line in lines)
    if not can_trap:
        _drop(module, READ_TRAP)
    result = clang.to_spirv(module.text)
    if not result.succeeded:
        raise CompileError(f"clang could not translate the kernel to SPIR-V: {_first_line(result.log)}", result.log)
    warps = spirv.uses_warp_operations(result.output)
    return Lowered(spirv.with_warp_size(result.output, ENTRY) if warps else result.output, warps, can_trap)


def _bind_dynamic_shared(module: Module, shared_bytes: int) -> None:
    """Every `extern __shared__` array names the same memory; with opaque pointers, so does a mere change of name."""
    names = [match[1] for _, lines in module.pieces if (match := _EXTERN_SHARED.match(lines[0]))]
    if not names:
        return
    pattern = re.compile("|".join(rf"@{re.escape(name)}(?![-\w$.])" for name in names))
    module.pieces = [
        (name, [pattern.sub(f"@{_DYNAMIC_SHARED}", line) for line in lines])
        for name, lines in module.pieces
        if not _EXTERN_SHARED.match(lines[0])
    ]
    if all(name != _DYNAMIC_SHARED for name, _ in module.pieces):
        definition = f"@{_DYNAMIC_SHARED} = internal addrspace(3) global [{max(shared_bytes, 1)} x i8] undef, align 128"
        module.pieces.append((_DYNAMIC_SHARED, [definition]))


def _refuse_assembly(module: Module, request: CompileRequest) -> None:
    for lines in module.functions.values():
        for index, line in enumerate(lines):
            match = _ASM.search(line)
            if match is None:
                continue
            if not match[1].strip() and "= " not in line.split("asm", 1)[0]:
                lines[index] = ""  # an empty statement only keeps the compiler from moving code
                continue
            place = module.source_line(line, _GENERATED)
            file, number = (place.file, place.line) if place else (str(request.source_file), 1)
            raise unsupported_feature("inline PTX (asm)", file, number, "use the intrinsic instead, or run it on a GPU device")


def _with_safe_barriers(module: Module, kernels: list[str], request: CompileRequest) -> Module:
    try:
        return with_safe_barriers(module, kernels, lambda where, line: where.source_line(line, _GENERATED))
    except HiddenBarrier as barrier:
        feature = f"a barrier in a recursive or indirectly called function ({barrier.function})"
        raise unsupported_feature(feature, str(request.source_file), 1, "call the function directly") from barrier


def _drop(module: Module, function: str) -> None:
    module.pieces = [(name, lines) for name, lines in module.pieces if name != function]


def _first_line(log: str) -> str:
    return next((line for line in log.splitlines() if "error" in line), log.strip().splitlines()[0] if log.strip() else "no message")
