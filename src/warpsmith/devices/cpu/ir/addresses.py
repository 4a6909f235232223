"""Canonical text of addresses as sums, so that equal computations of an address give equal texts.

Without optimisation: variables that are written once are replaced by their value, others stand for themselves. Equal texts mean
equal addresses as long as none of their variables changes; different texts may still be equal addresses.
"""

from __future__ import annotations

import re
from functools import cache

from warpsmith.devices.cpu.ir.function import Function, Instruction
from warpsmith.devices.cpu.ir.module import NAME
from warpsmith.devices.cpu.ir.points_to import PointsTo, load_pointer, operands, store_parts

_LOCAL = re.compile(rf"%{NAME}")
_NUMBER = re.compile(r"-?\d+")
_ARRAY = re.compile(r"[\[<](\d+) x (.*)[\]>]$")
_METADATA = re.compile(r"(?:, ![\w.]+ !\d+)+$")
_POINTER_CAST = re.compile(r"addrspacecast \(ptr(?: addrspace\(\d+\))? (@[^ ]+) to ptr[^()]*(?:\(\d+\))?\)")
_BYTES = {"i1": 1, "i8": 1, "i16": 2, "half": 2, "bfloat": 2, "i32": 4, "float": 4, "i64": 8, "double": 8, "ptr": 8}
_SAME_NUMBER = frozenset({"sext", "zext", "addrspacecast", "freeze"})
_OPAQUE = frozenset({"alloca", "phi", "call", "atomicrmw", "cmpxchg"})
_DEPTH = 24


class Addresses:
    def __init__(self, function: Function, points_to: PointsTo) -> None:
        instructions = [i for block in function.blocks.values() for i in block.instructions]
        self._definitions = {i.result: i for i in instructions if i.result is not None}
        writers: dict[str, list[Instruction]] = {}
        for instruction in instructions:
            if instruction.opcode in {"store", "call"}:
                pointer = store_parts(instruction)[1] if instruction.opcode == "store" else instruction.body
                for variable in points_to.private_targets(pointer):
                    writers.setdefault(variable, []).append(instruction)
        # A variable written once, and directly, is an alias of its value: the parameter copies that inlining leaves.
        self._once: dict[str, str] = {}
        for variable, (instruction, *others) in writers.items():
            if not others and instruction.opcode == "store" and self._variable(store_parts(instruction)[1]) == variable:
                self._once[variable] = store_parts(instruction)[0]
        self._known: dict[str, str] = {}

    def of(self, operand: str) -> str:
        """The canonical text of an operand, as in `ptr addrspace(4) %x`."""
        return self._text(operand, _DEPTH)

    def _text(self, operand: str, depth: int) -> str:
        value = _POINTER_CAST.sub(r"\1", operand)
        value = value[value.rindex(" ") + 1 :] if " " in value and not value.endswith(")") else value
        return _LOCAL.sub(lambda match: self._value(match[0], depth), value)

    def _value(self, name: str, depth: int) -> str:
        definition = self._definitions.get(name)
        if definition is None or depth == 0 or definition.opcode in _OPAQUE:
            return name
        if name not in self._known:
            self._known[name] = self._written_out(definition, depth - 1)
        return self._known[name]

    def _written_out(self, definition: Instruction, depth: int) -> str:
        body = _METADATA.sub("", definition.body)
        if definition.opcode == "load":
            variable = self._variable(load_pointer(definition))
            return self._text(self._once[variable], depth) if variable in self._once else f"[{variable}]"
        if definition.opcode == "getelementptr" and (total := self._sum(body, depth)) is not None:
            return total
        if definition.opcode in _SAME_NUMBER and definition.operands:
            return self._value(definition.operands[0], depth)
        return f"({_LOCAL.sub(lambda match: self._value(match[0], depth), body)})"

    def _sum(self, body: str, depth: int) -> str | None:
        """`{base + constant + index * bytes + …}`; None for members of structures."""
        kind, pointer, *indices = operands(re.sub(r"^getelementptr (?:(?:inbounds|nuw|nusw) )*", "", body))
        base, constant, terms = self._text(pointer, depth), 0, []
        if base.startswith("{"):
            base, first, *rest = base[1:-1].split(" + ")
            constant, terms = int(first), rest
        for position, index in enumerate(indices):
            if position > 0:
                array = _ARRAY.match(kind)
                if array is None:
                    return None
                kind = array[2]
            step = size_of(kind)
            if step is None:
                return None
            number = index.rpartition(" ")[2]
            if _NUMBER.fullmatch(number):
                constant += int(number) * step
            else:
                terms.append(f"{self._text(index, depth)} * {step}")
        return "{" + " + ".join([base, str(constant), *sorted(terms)]) + "}"

    def _variable(self, pointer: str) -> str:
        """The pointer's name, or that of the variable it is cast from."""
        name = _POINTER_CAST.sub(r"\1", pointer).rpartition(" ")[2]
        definition = self._definitions.get(name)
        if definition is not None and definition.opcode == "addrspacecast" and definition.operands:
            return self._variable(definition.operands[0])
        return name


@cache
def size_of(kind: str) -> int | None:
    """Size in bytes of a type that is not a structure."""
    array = _ARRAY.match(kind)
    if array is None:
        return _BYTES.get(kind.split(" ", maxsplit=1)[0])
    element = size_of(array[2])
    return None if element is None else int(array[1]) * element
