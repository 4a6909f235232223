"""Parses the pointers, values and widths of accesses from an instruction's text, and replaces its pointer."""

from __future__ import annotations

import re
from typing import Final

from warpsmith.devices.cpu.ir.accesses import Access
from warpsmith.devices.cpu.ir.addresses import size_of
from warpsmith.devices.cpu.ir.function import Instruction
from warpsmith.devices.cpu.ir.module import NAME
from warpsmith.devices.cpu.ir.types import leading_type

OWN_MEMORY: Final = "0"
CONSTANT_MEMORY: Final = "2"
GENERIC: Final = "4"
"""Address spaces."""

_POINTER = re.compile(
    r"^ptr(?: addrspace\((?P<space>\d+)\))? (?:(?:align \d+|\w+) )*(?P<value>[%@].+|addrspacecast.+|getelementptr.+)$"
)
_ORDER = re.compile(r" (?:syncscope\(.*|monotonic|acquire|release|seq_cst)$")
_ATOMIC_TYPE = re.compile(r"^(?:atomicrmw|cmpxchg)\b.*?, (?P<type>[\w.]+) ")
_FIRST_ARGUMENT = re.compile(rf"\((?P<pointer>ptr addrspace\(\d+\))(?: \w+)*? (?P<value>[%@]{NAME})")
_ALIGNMENT = re.compile(r"\balign (\d+)")
_WORD = 4


def pointer_of(access: Access) -> tuple[str, str] | None:
    """(address space, value)"""
    match = _POINTER.match(_ORDER.sub("", access.pointer))
    if match is None and access.is_atomic and (call := _FIRST_ARGUMENT.search(access.pointer)) is not None:
        match = _POINTER.match(f"{call['pointer']} {call['value']}")
    return None if match is None else (match["space"] or OWN_MEMORY, match["value"])


def alignment_of(instruction: Instruction, access: Access) -> int:
    """The accessed type's required alignment; 1 if none is given."""
    found = _ALIGNMENT.findall(access.pointer if instruction.opcode == "call" else instruction.text)
    return int(found[-1]) if found else 1


def typed(pointer: tuple[str, str]) -> str:
    space, value = pointer
    return f"ptr {value}" if space == OWN_MEMORY else f"ptr addrspace({space}) {value}"


def led_to(instruction: Instruction, access: Access, old: str, new: str) -> Instruction:
    """The instruction with another pointer: the last operand of that name; for a call or an atomic operation the first."""
    text = instruction.text
    pattern = re.compile(rf"(?<=[ ]){re.escape(old)}(?![\w.$-])")
    matches = list(pattern.finditer(text))
    is_last = access.value is not None or (instruction.opcode == "call" and not access.is_write)
    if not matches:
        return instruction
    match = matches[-1 if is_last else 0]
    return Instruction.parse(f"{text[: match.start()]}{new}{text[match.end() :]}")


def stored(value: str) -> str:
    return value.removeprefix("store ").removeprefix("volatile ")


def width_of(instruction: Instruction, access: Access) -> int | None:
    """Width where the analyses do not need it: constant vectors, atomic operations."""
    if access.value is not None:
        kind = leading_type(stored(access.value))
        return size_of(kind) if kind is not None else None
    match = _ATOMIC_TYPE.match(instruction.body)
    if match is not None:
        return size_of(match["type"])
    return _WORD if instruction.opcode == "call" and "tomic" in (instruction.callee or "") else None
