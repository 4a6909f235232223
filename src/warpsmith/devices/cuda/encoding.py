"""Reads the instruction count and the widest load from machine code without a disassembler.

From compute capability 7.x on an instruction has 16 bytes, with its opcode in the lowest twelve bits. The numbers are
undocumented; they are tested against `nvdisasm` on every target. This takes a millisecond, the disassembler a third of a
second.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from warpsmith.devices._elf import Elf

_INSTRUCTION = struct.Struct("<QQ")
_OPCODE = 0xFFF
_NOTHING = 0x918  # NOP: pads a section's end
_LOADS = frozenset({0x381, 0x981})  # LDG
_WIDE_LOAD = 0x97E  # LDG of 256 bits
_WIDE_LOAD_BYTES = 32
_WIDTHS = (1, 1, 2, 2, 4, 8, 16)  # by the three bits that give an LDG's size


@dataclass(frozen=True, slots=True)
class CodeFacts:
    """`load_bytes` is a thread's widest load from global memory into registers; None if there is none."""

    instructions: int
    load_bytes: int | None


def read_code(cubin: bytes, kernel: str) -> CodeFacts:
    section = Elf(cubin).section(f".text.{kernel}")
    code = list(_INSTRUCTION.iter_unpack(section.data)) if section is not None else []
    while code and code[-1][0] & _OPCODE == _NOTHING:
        code.pop()
    return CodeFacts(len(code), max((width for width in map(_load_bytes, code) if width), default=None))


def _load_bytes(instruction: tuple[int, int]) -> int:
    low, high = instruction
    opcode = low & _OPCODE
    if opcode == _WIDE_LOAD:
        return _WIDE_LOAD_BYTES
    size = high >> 9 & 7
    return _WIDTHS[size] if opcode in _LOADS and size < len(_WIDTHS) else 0
