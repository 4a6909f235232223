"""Lowers a translation unit's IR to SPIR-V for one kernel: the passes, in order."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from warpsmith.devices.base import CompileError, CompileRequest
from warpsmith.devices.cpu import clang, spirv
from warpsmith.devices.cpu.convergence import HiddenBarrier, flattened, with_safe_barriers
from warpsmith.devices.cpu.diagnostics import unsupported_feature
from warpsmith.devices.cpu.entry import ENTRY, READ_TRAP, TRAP, kernel_names
from warpsmith.devices.cpu.ir.bounds import BLOCK_SIZE
from warpsmith.devices.cpu.ir.function import Function, Instruction
from warpsmith.devices.cpu.ir.globals import add_reset
from warpsmith.devices.cpu.ir.loop_exits import part_loop_exits
from warpsmith.devices.cpu.ir.module import NAME, Module
from warpsmith.devices.cpu.ir.parts import Layout
from warpsmith.devices.cpu.ir.saturation import write_out_saturating_casts
from warpsmith.devices.cpu.ir.shifts import saturate_shifts
from warpsmith.devices.cpu.ir.subscripts import sign_subscripts
from warpsmith.devices.cpu.ir.thread_index import bound_thread_index
from warpsmith.devices.cpu.ir.vector_copies import copy_vectors_whole
from warpsmith.devices.cpu.ir.warp_synchronous import keep_warps_in_step
from warpsmith.devices.cpu.ir.whole_rows import copy_whole_rows
from warpsmith.devices.cpu.refusals import refuse, users_line
from warpsmith.devices.cpu.shared_memory import DYNAMIC_SHARED, reserved_shared_bytes
from warpsmith.devices.cpu.watch import hooks
from warpsmith.devices.cpu.watch.facts import Watch
from warpsmith.devices.cpu.watch.instrument import instrumented, mark_meetings
from warpsmith.devices.cpu.wide_integers import uses_wide_integers, write_out_wide_integers

_SHARED_ARRAY = re.compile(rf"^@({NAME}) = external .*addrspace\(3\) global ")
_GLOBAL = re.compile(rf"^@{NAME} = (?:[\w.]+ )*?addrspace\(1\) (?:\w+ )*?global (?P<rest>.*)$")


@dataclass(frozen=True, slots=True)
class Lowered:
    module: bytes
    uses_warps: bool
    can_trap: bool
    uses_dynamic_shared: bool
    lasting: Mapping[str, int]  # writable variables in global memory, with their bytes
    values: tuple[int, ...] = ()  # the parameters of the entry that are taken by value, where it has such
    watch: Watch | None = None
    has_reset: bool = False


def lower(module: Module, request: CompileRequest) -> Lowered:
    """Raises UnsupportedFeature or CompileError. The module is used up."""
    saturate_shifts(module)
    if request.watched:
        mark_meetings(module)
    safe, _ = made_safe(module, request)
    return translated_watched(safe, request) if request.watched else translated(safe, request)


def made_safe(module: Module, request: CompileRequest, *, in_step: bool = True) -> tuple[Module, bool]:
    """The module with what it cannot do refused and its barriers safe, and whether it needed more than that to be right.

    Without `in_step`, warps are not kept in step where they exchange values without a word.
    """
    kernels = kernel_names(len(request.constants))
    _bind_dynamic_shared(module, reserved_shared_bytes(request.geometry.shared_bytes))
    module.keep_reachable(kernels)
    refuse(module, request.source_file)
    write_out_wide_integers(module, request.source_file)
    write_out_saturating_casts(module)
    kept_in_step = in_step and keep_warps_in_step(module)
    try:
        safe = with_safe_barriers(module, kernels, users_line, in_step=in_step)
    except HiddenBarrier as barrier:
        feature = f"a barrier inside {barrier.function}, which cannot be inlined"
        raise unsupported_feature(feature, str(request.source_file), 1, "call the function directly") from barrier
    return safe, kept_in_step or safe is not module


def translated(module: Module, request: CompileRequest) -> Lowered:
    """To SPIR-V that the runtime vectorises well. A plain request is not vectorised, and stays unchanged."""
    can_trap = TRAP in module.reachable([ENTRY])
    if not can_trap:
        module.keep_reachable(name for name in kernel_names(len(request.constants)) if name != READ_TRAP)
    if not request.plain:
        sign_subscripts(module)
        copy_vectors_whole(module)
        module = _reshaped(module, kernel_names(len(request.constants)))
        bound_thread_index(module)
    has_reset = add_reset(module)
    return replace(_as_spirv(module, can_trap=can_trap), has_reset=has_reset)


def translated_watched(module: Module, request: CompileRequest) -> Lowered:
    """To SPIR-V that reports its accesses. Its speed is irrelevant."""
    kernels = kernel_names(len(request.constants))
    watched = instrumented(module, kernels)
    can_trap = TRAP in watched.module.reachable([ENTRY])
    if not can_trap:
        watched.module.keep_reachable(name for name in kernels if name != READ_TRAP)
    lowered = _as_spirv(watched.module, can_trap=can_trap, library=hooks.bitcode())
    return replace(lowered, watch=watched.facts(request.parameters))


def _as_spirv(module: Module, *, can_trap: bool, library: int | None = None) -> Lowered:
    text = module.text
    result = clang.to_spirv(text, wide_integers=uses_wide_integers(text), library=library)
    if not result.succeeded:
        reason = next((line for line in result.log.splitlines() if "error" in line), "no message")
        raise CompileError(f"clang could not translate the kernel to SPIR-V: {reason}", result.log)
    dynamic = any(name == DYNAMIC_SHARED for name, _ in module.pieces)
    plain = spirv.without_names(result.output)
    warps = spirv.uses_warp_operations(plain)
    return Lowered(spirv.with_warp_size(plain, ENTRY) if warps else plain, warps, can_trap, dynamic, _lasting(module))


def _lasting(module: Module) -> dict[str, int]:
    layout = Layout(module)
    found = ((name, _GLOBAL.match(lines[0])) for name, lines in module.pieces if name is not None)
    sizes = {name: layout.size_and_alignment(_first_type(match["rest"])) for name, match in found if match}
    return {name: size[0] if size is not None else 0 for name, size in sizes.items()}


def _first_type(text: str) -> str:
    """First of a variable's type and initial value, separated by a blank."""
    depth = 0
    for place, sign in enumerate(text):
        depth += (sign in "[{<(") - (sign in "]}>)")
        if depth == 0 and sign in " ,":
            return text[:place]
    return text


def is_parted(module: Module, kernels: list[str]) -> bool:
    """Whether threads carry a value out of a loop that the runtime would get wrong."""
    return part_loop_exits(*_flat_kernel(module, kernels))


def _reshaped(module: Module, kernels: list[str]) -> Module:
    """The module itself, or one whose loops are left safely, and where code that threads differ about has a copy without masks.

    The user's kernel stays a function of its own: the runtime finds `__restrict__` on its parameters, and nowhere else.
    """
    flat, kernel = _flat_kernel(module, kernels)
    parted = part_loop_exits(flat, kernel)
    function = Function.parse(flat.functions[kernel])
    function.hoist_casts_of_allocas()
    copied = "@llvm.spv.thread.id.in.group" in module.text and copy_whole_rows(function, frozenset(flat.functions) - {kernel})
    if not copied:
        return flat if parted else module
    flat.replace(kernel, function.lines)
    if f"declare {BLOCK_SIZE}(" not in flat.text:
        flat.pieces.append((None, [f"declare {BLOCK_SIZE}(i32)"]))
    return flat


def _flat_kernel(module: Module, kernels: list[str]) -> tuple[Module, str]:
    """A copy in which the user's kernel (the entry, if it is in there) has inlined what it calls, and the kernel's name."""
    calls = [name for line in module.functions[ENTRY] if (name := Instruction.parse(line).callee) in module.functions]
    kernel = calls[-1] or ENTRY if calls else ENTRY
    return flattened(module, [*kernels, kernel]), kernel


def _bind_dynamic_shared(module: Module, shared_bytes: int) -> None:
    """Gives dynamic shared memory its size. All `extern __shared__` arrays are renamed to it, which opaque pointers allow."""
    names = [match[1] for _, lines in module.pieces if (match := _SHARED_ARRAY.match(lines[0]))]
    for name in (*names, DYNAMIC_SHARED):
        module.drop(name)
    if names:
        pattern = re.compile("|".join(rf"@{re.escape(name)}(?![-\w$.])" for name in names))
        module.pieces = [(name, [pattern.sub(f"@{DYNAMIC_SHARED}", line) for line in lines]) for name, lines in module.pieces]
    definition = f"@{DYNAMIC_SHARED} = internal addrspace(3) global [{shared_bytes} x i8] undef, align 128"
    module.pieces.append((DYNAMIC_SHARED, [definition]))
