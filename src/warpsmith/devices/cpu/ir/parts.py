"""A thread's variables as the scalars and vectors that they consist of, byte by byte."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from warpsmith.devices.cpu.ir.function import Function
from warpsmith.devices.cpu.ir.module import NAME, Module
from warpsmith.devices.cpu.ir.points_to import operands

_ALLOCA = re.compile(r"alloca (?P<type>.+?), align")
_POINTER = re.compile(r"ptr(?: addrspace\(\d+\))?$")
_VECTOR = re.compile(r"<(?P<length>\d+) x (?P<element>\w+)>$")
_ARRAY = re.compile(r"\[(?P<length>\d+) x (?P<element>.*)\]$")
_STRUCTURE = re.compile(r"(?P<packed><?)\{(?P<members>.*)\}>?$")
_NAMED = re.compile(rf"^(?P<name>%{NAME}) = type (?P<type>.*)$")
_BITS = {"half": 16, "bfloat": 16, "float": 32, "double": 64}
_MOST_PARTS = 256


@dataclass(frozen=True, slots=True)
class Part:
    kind: str
    address: str  # the instruction that computes it
    bytes: int  # one bit for each byte of the variable that belongs to it


class Layout:
    """Sizes and offsets in SPIR-V's data layout."""

    def __init__(self, module: Module) -> None:
        lines = (line for _, lines in module.pieces for line in lines)
        self._named = {match["name"]: match["type"] for line in lines if (match := _NAMED.match(line))}

    def size_and_alignment(self, kind: str) -> tuple[int, int] | None:
        """In bytes; None for types without a size here (opaque types)."""
        kind = self._named.get(kind, kind)
        if bits := scalar_bits(kind):
            size = 1 << max(bits - 1, 7).bit_length() >> 3
            return size, size
        if match := _VECTOR.match(kind):
            size = 1 << (int(match["length"]) * scalar_bits(match["element"]) // 8 - 1).bit_length()
            return size, size
        if match := _ARRAY.match(kind):
            element = self.size_and_alignment(match["element"])
            return None if element is None else (int(match["length"]) * element[0], element[1])
        members = self.members(kind)
        if not members:
            return (0, 1) if members is not None else None
        alignment = 1 if kind.startswith("<") else max(alignment for _, _, _, alignment in members)
        return -(-(members[-1][1] + members[-1][2]) // alignment) * alignment, alignment

    def members(self, kind: str) -> list[tuple[str, int, int, int]] | None:
        """(type, offset, size, alignment) for each member of a structure."""
        match = _STRUCTURE.match(self._named.get(kind, kind))
        if match is None:
            return None
        found: list[tuple[str, int, int, int]] = []
        end = 0
        for member in operands(match["members"].strip()) if match["members"].strip() else ():
            size_and_alignment = self.size_and_alignment(member)
            if size_and_alignment is None:
                return None
            size, alignment = size_and_alignment
            offset = end if match["packed"] else -(-end // alignment) * alignment
            found.append((member, offset, size, alignment))
            end = offset + size
        return found

    def element(self, kind: str) -> str | None:
        """The type of an array's or a vector's elements."""
        kind = self._named.get(kind, kind)
        match = _ARRAY.match(kind) or _VECTOR.match(kind)
        return match["element"] if match else None

    def bytes_of(self, kind: str, offset: int = 0) -> int:
        """One bit per byte of a value of that type at the offset; all from there on if its size is unknown."""
        size = self.size_and_alignment(kind)
        return -1 << offset if size is None else (1 << size[0]) - 1 << offset

    def parts(self, kind: str, path: tuple[int, ...] = (), offset: int = 0) -> Iterator[tuple[tuple[int, ...], str, int]]:
        """(path, type, offset)"""
        if scalar_bits(kind) or _VECTOR.match(kind):
            yield path, kind, offset
        elif (element := self.element(kind)) is not None:
            size = self.size_and_alignment(element)
            if size is None or _POINTER.match(element):  # those lose their type on the way to SPIR-V
                return
            count = _ARRAY.match(self._named.get(kind, kind))
            for index in range(int(count["length"]) if count else 0):
                yield from self.parts(element, (*path, index), offset + index * size[0])
        else:
            for index, (member, inside, _, _) in enumerate(self.members(kind) or ()):
                yield from self.parts(member, (*path, index), offset + inside)


def scalar_bits(kind: str) -> int:
    """0 for anything but a scalar."""
    if kind[:1] == "i" and kind[1:].isdecimal():
        return int(kind[1:])
    return 64 if _POINTER.match(kind) else _BITS.get(kind, 0)


def parts_of(layout: Layout, function: Function) -> Mapping[str, list[Part]]:
    """By variable; none for very large ones."""
    found: dict[str, list[Part]] = {}
    for i in (i for block in function.blocks.values() for i in block.instructions if i.opcode == "alloca"):
        match = _ALLOCA.match(i.body)
        if match is None or i.result is None:
            continue
        parts: list[Part] = []
        for path, kind, offset in layout.parts(match["type"]):
            indices = "".join(f", i32 {index}" for index in path)
            address = f"getelementptr inbounds {match['type']}, ptr {i.result}, i32 0{indices}"
            parts.append(Part(kind, address, layout.bytes_of(kind, offset)))
            if len(parts) > _MOST_PARTS:
                parts = []
                break
        if parts:
            found[i.result] = parts
    return found
