"""Moves, loads, stores, warp exchanges, and instructions that only affect order or speed."""

from __future__ import annotations

import re

from warpsmith.devices.cpu.ptx.arithmetic import Handler, own
from warpsmith.devices.cpu.ptx.arithmetic import operands as exactly
from warpsmith.devices.cpu.ptx.operands import Registers, UnknownPtxError, is_literal
from warpsmith.devices.cpu.ptx.program import Instruction

# Cache hints, which no result depends on.
_CACHING = re.compile(r"global|nc|ca|cg|cs|lu|cv|wb|wt|weak|L[12]::(?:no_allocate|evict_\w+|\d+B)")
_ADDRESS = re.compile(r"\[\s*(?P<base>[^\s+\]]+)\s*(?:\+\s*(?P<offset>\d+|0x[0-9a-fA-F]+))?\s*\]|\[\s*(?P<named>%\[\w+\])\s*\]")
_ELEMENTS = {"v2": 2, "v4": 4, "v8": 8}
_LAST_LANE = 31
_HALF_WIDTH = {"b32": "b16", "b64": "b32"}


def _vector(operand: str) -> list[str] | None:
    return [part.strip() for part in operand[1:-1].split(",")] if operand.startswith("{") else None


def _move(instruction: Instruction, registers: Registers) -> str:
    to, value = exactly(instruction, 2)
    kind = ".".join(instruction.modifiers)
    parts, whole = _vector(value) or _vector(to), "b" + kind[1:]
    if parts is None:
        return registers.write(to, registers.read(value, kind))
    half = _HALF_WIDTH.get(whole)
    if half is None or len(parts) != 2:
        raise UnknownPtxError
    if _vector(value):
        return registers.write(to, own("joined", *(registers.read(part, half) for part in parts)))
    source = registers.read(value, whole)
    lower, upper = (own(f"part<{index}>", source) for index in (0, 1))
    return " ".join(registers.write(to, part) for to, part in zip(parts, (lower, upper), strict=True) if to != "_")


def _place(operand: str, registers: Registers) -> str:
    match = _ADDRESS.fullmatch(operand)
    if match is None:
        raise UnknownPtxError
    base = own("address", registers.variable(match["named"] or match["base"]))
    return f"({base} + {match['offset']})" if match["offset"] else base


def _access(instruction: Instruction) -> tuple[str, int]:
    """Type and number of elements. Not shared memory, whose addresses are not numbers here, nor ordered accesses."""
    *how, kind = instruction.modifiers or ("",)
    counts = [_ELEMENTS[word] for word in how if word in _ELEMENTS]
    if any(word not in _ELEMENTS and not _CACHING.fullmatch(word) for word in how):
        raise UnknownPtxError
    return kind, counts[0] if counts else 1


def _load(instruction: Instruction, registers: Registers) -> str:
    kind, count = _access(instruction)
    to, place = exactly(instruction, 2)
    parts = _vector(to) or [to]
    if len(parts) != count:
        raise UnknownPtxError
    one, source = registers.type(kind), _place(place, registers)
    loads = [f"const auto loaded = __warpsmith::ptx::loaded<{one}, {count}>({source});"]
    return f"{{ {' '.join(loads + [registers.write(part, f'loaded.at[{i}]') for i, part in enumerate(parts)])} }}"


def _store(instruction: Instruction, registers: Registers) -> str:
    kind, count = _access(instruction)
    place, value = exactly(instruction, 2)
    parts = _vector(value) or [value]
    if len(parts) != count:
        raise UnknownPtxError
    values = ", ".join(registers.read(part, kind) for part in parts)
    return f"__warpsmith::ptx::store<{registers.type(kind)}, {count}>({_place(place, registers)}, {{{{{values}}}}});"


def _shuffle(instruction: Instruction, registers: Registers) -> str:
    to, value, lane, bound, _ = exactly(instruction, 5)
    functions = {"bfly": "__shfl_xor_sync", "idx": "__shfl_sync", "down": "__shfl_down_sync", "up": "__shfl_up_sync"}
    sync, mode, kind = instruction.modifiers if len(instruction.modifiers) == 3 else ("", "", "")
    if sync != "sync" or kind != "b32" or mode not in functions or not is_literal(bound, 0 if mode == "up" else _LAST_LANE):
        raise UnknownPtxError
    return registers.write(
        to, f"{functions[mode]}(0xffffffffu, {registers.read(value, kind)}, (int){registers.read(lane, 'u32')})"
    )


def _barrier(instruction: Instruction, registers: Registers) -> str:
    match instruction.modifiers, instruction.operands:
        case ("sync",) | ("cta", "sync"), (which,) if is_literal(which, 0):
            return "__syncthreads();"
        case ("warp", "sync"), (mask,):
            return f"__syncwarp({registers.read(mask, 'u32')});"
    raise UnknownPtxError


def _always(code: str, *modifiers: str) -> Handler:
    def handler(instruction: Instruction, registers: Registers) -> str:
        del registers
        if modifiers and ".".join(instruction.modifiers) not in modifiers:
            raise UnknownPtxError
        return code

    return handler


HANDLERS: dict[str, Handler] = {
    "mov": _move,
    "ld": _load,
    "st": _store,
    "shfl": _shuffle,
    "bar": _barrier,
    "barrier": _barrier,
    "membar": _always("__threadfence();", "gl", "sys", "cta"),
    "fence": _always("__threadfence();", "acq_rel.gpu", "acq_rel.sys", "sc.gpu", "sc.sys"),
    "trap": _always("__trap();"),
    # Only one grid runs at a time here.
    "griddepcontrol": _always(";", "wait", "launch_dependents"),
    "prefetch": _always(";"),
    "prefetchu": _always(";"),
}
