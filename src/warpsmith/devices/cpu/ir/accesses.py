"""Memory accesses of an instruction through pointers: loads and stores, struct copies, atomic operations."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from warpsmith.devices.cpu.ir.addresses import size_of
from warpsmith.devices.cpu.ir.function import Instruction
from warpsmith.devices.cpu.ir.points_to import load_pointer, operands, store_parts, transfer_parts

_MODIFIERS = re.compile(r"^(?:load|store) (?:(?:atomic|volatile) )*")
_LENGTH = re.compile(r", i64 (\d+), i1 ")
_ATOMIC_CALL = re.compile(r"[Aa]tomic")
_ATOMIC_OPERAND = re.compile(r"^(?:atomicrmw|cmpxchg)(?: (?:volatile|weak|\w+))*? (?=ptr)")


@dataclass(frozen=True, slots=True)
class Access:
    """`value` is what a plain store stores, `width` the number of bytes if known."""

    pointer: str
    width: int | None
    is_write: bool = False
    is_atomic: bool = False
    value: str | None = None


def accesses(instruction: Instruction) -> Iterator[Access]:
    """Reads before writes, in execution order. An atomic operation counts as a write."""
    match instruction.opcode:
        case "load":
            kind = operands(instruction.body)[0]
            yield Access(load_pointer(instruction), size_of(_MODIFIERS.sub("", kind)))
        case "store":
            value, pointer = store_parts(instruction)
            yield Access(pointer, size_of(_MODIFIERS.sub("", value).rpartition(" ")[0]), is_write=True, value=value)
        case "atomicrmw" | "cmpxchg":
            yield Access(operands(_ATOMIC_OPERAND.sub("", instruction.body))[0], None, is_write=True, is_atomic=True)
        case "call":
            if (transfer := transfer_parts(instruction)) is not None:
                length = _LENGTH.search(instruction.text)
                width = int(length[1]) if length else None
                yield Access(transfer[1], width)
                yield Access(transfer[0], width, is_write=True)
            elif _ATOMIC_CALL.search(instruction.callee or ""):
                yield Access(instruction.body, None, is_write=True, is_atomic=True)
