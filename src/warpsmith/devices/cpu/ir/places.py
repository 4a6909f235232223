"""Bytes of a thread's own variables that an instruction reads and writes.

Finer than `points_to`, which treats variables as wholes: a counter may share a structure with divergent members. An unknown
address is anywhere in the pointer's objects.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from warpsmith.devices.cpu.ir.function import Function, Instruction
from warpsmith.devices.cpu.ir.parts import Layout
from warpsmith.devices.cpu.ir.points_to import PointsTo, load_pointer, operands, store_parts, transfer_parts
from warpsmith.devices.cpu.ir.types import leading_type

_GEP = re.compile(r"^getelementptr (?:(?:inbounds|nuw|nusw) )*")
_METADATA = re.compile(r"(?:, ![\w.]+ !\d+)+$")
_LOADED = re.compile(r"^load (?:volatile |atomic )*(?P<type>.*)$")
_CONSTANT = re.compile(r"i\d+ (-?\d+)$")
_CASTS = frozenset({"addrspacecast", "bitcast", "freeze"})
_ANYWHERE = -1
_POINTER_BYTES = 8


@dataclass(frozen=True, slots=True)
class Access:
    variable: str
    bytes: int  # one bit for each
    certain: bool = False  # all of them, whenever the instruction runs


class Places:
    def __init__(self, layout: Layout, function: Function, points_to: PointsTo) -> None:
        instructions = [i for block in function.blocks.values() for i in block.instructions]
        self._layout = layout
        self._points_to = points_to
        self._definitions = {i.result: i for i in instructions if i.result is not None}
        self._writers: defaultdict[str, list[Instruction]] = defaultdict(list)
        for i in instructions:
            for variable in _written(i, points_to):
                self._writers[variable].append(i)
        self._known: dict[str, tuple[str, int] | None] = {}
        self._reads: dict[str, tuple[Access, ...]] = {}
        self._writes: dict[str, tuple[Access, ...]] = {}

    def reads(self, i: Instruction) -> tuple[Access, ...]:
        if i.text not in self._reads:
            self._reads[i.text] = tuple(self._find_reads(i))
        return self._reads[i.text]

    def writes(self, i: Instruction) -> tuple[Access, ...]:
        if i.text not in self._writes:
            self._writes[i.text] = tuple(self._find_writes(i))
        return self._writes[i.text]

    def _find_reads(self, i: Instruction) -> Iterator[Access]:
        if i.opcode == "load":
            match = _LOADED.match(operands(i.body)[0])
            yield from self._at(load_pointer(i), self._size(match["type"] if match else None))
        elif i.opcode in {"atomicrmw", "cmpxchg"}:
            yield from self._anywhere(i.body)
        elif i.opcode == "call":
            transfer = transfer_parts(i)
            if transfer is not None:
                yield from self._at(transfer[1], _length(i))
            elif "llvm.memset" not in (i.callee or ""):
                yield from self._anywhere(i.body)

    def _find_writes(self, i: Instruction) -> Iterator[Access]:
        if i.opcode == "store":
            value, pointer = store_parts(i)
            yield from self._at(pointer, self._size(leading_type(re.sub(r"^store (?:volatile |atomic )*", "", value))))
        elif i.opcode in {"atomicrmw", "cmpxchg"}:
            yield from self._anywhere(i.body)
        elif i.opcode == "call":
            transfer = transfer_parts(i)
            if transfer is not None:
                yield from self._at(transfer[0], _length(i))
            elif "llvm.memset" in (i.callee or ""):
                yield from self._at(operands(i.body[i.body.index("(") + 1 : i.body.rindex(")")])[0], _length(i))
            else:
                yield from self._anywhere(i.body)

    def _size(self, kind: str | None) -> int | None:
        size = self._layout.size_and_alignment(kind) if kind is not None else None
        return size[0] if size is not None else None

    def _at(self, pointer: str, size: int | None) -> Iterator[Access]:
        place = self._place(pointer.rpartition(" ")[2], 16)
        if place is None:
            yield from self._anywhere(pointer)
        elif size is None:
            yield Access(place[0], -1 << place[1])
        else:
            yield Access(place[0], (1 << size) - 1 << place[1], certain=True)

    def _anywhere(self, text: str) -> Iterator[Access]:
        return (Access(variable, _ANYWHERE) for variable in sorted(self._points_to.private_targets(text)))

    def _place(self, name: str, depth: int) -> tuple[str, int] | None:
        """(variable, offset in bytes) of a pointer, if constant."""
        if name not in self._known:
            self._known[name] = self._find_place(name, depth) if depth else None
        return self._known[name]

    def _find_place(self, name: str, depth: int) -> tuple[str, int] | None:
        definition = self._definitions.get(name)
        if definition is None:
            return None
        if definition.opcode == "alloca":
            return name, 0
        if definition.opcode in _CASTS and definition.operands:
            return self._place(definition.operands[0], depth - 1)
        if definition.opcode == "load":
            slot = self._place(load_pointer(definition).rpartition(" ")[2], depth - 1)
            value = self._only_value(slot, depth - 1) if slot is not None else None
            return self._place(value.rpartition(" ")[2], depth - 1) if value is not None else None
        if definition.opcode == "getelementptr":
            kind, pointer, *indices = operands(_GEP.sub("", _METADATA.sub("", definition.body)))
            base = self._place(pointer.rpartition(" ")[2], depth - 1)
            inside = self._offset(kind, indices) if base is not None else None
            return (base[0], base[1] + inside) if base is not None and inside is not None and base[1] + inside >= 0 else None
        return None

    def _only_value(self, slot: tuple[str, int], depth: int) -> str | None:
        """The only pointer ever written there: `this`, references and lambda captures are variables themselves."""
        values: list[str] = []
        for i in self._writers[slot[0]]:
            value, pointer = store_parts(i) if i.opcode == "store" else ("", "")
            place = self._place(pointer.rpartition(" ")[2], depth) if pointer else None
            if place is None or place[0] != slot[0] or 0 < abs(place[1] - slot[1]) < _POINTER_BYTES:
                return None
            values += [value] if place == slot else []
        return values[0] if len(values) == 1 else None

    def _offset(self, kind: str, indices: list[str]) -> int | None:
        total = 0
        for position, index in enumerate(indices):
            constant = _CONSTANT.match(index)
            if constant is None:
                return None
            number = int(constant[1])
            members = self._layout.members(kind) if position else None
            if members is not None:
                kind, offset, _, _ = members[number]
                total += offset
                continue
            inner = self._layout.element(kind) if position else kind
            size = self._size(inner)
            if inner is None or size is None:
                return None
            kind = inner
            total += number * size
        return total


def _written(i: Instruction, points_to: PointsTo) -> set[str]:
    if i.opcode == "store":
        return points_to.private_targets(store_parts(i)[1])
    if (transfer := transfer_parts(i)) is not None:
        return points_to.private_targets(transfer[0])
    return points_to.private_targets(i.body) if i.opcode in {"call", "atomicrmw", "cmpxchg"} else set()


def _length(i: Instruction) -> int | None:
    """Length of a copy or a fill, if constant."""
    match = _CONSTANT.match(operands(i.text[i.text.index("(", i.text.index("@")) + 1 : i.text.rindex(")")])[2])
    return int(match[1]) if match else None
