"""Bounds of an integer over the threads of a row: code that computes a minimum and a maximum next to a value.

    i = base + threadIdx.x        i.low = base        i.high = base + (blockDim.x - 1)

The bounds hold in each thread alone: whatever path it took, its value is within its bounds. So a condition that holds at the
bounds holds for the value, without a proof about the whole program. They are useful because they are uniform in a row of threads.
Rows follow x, as vectors do: threadIdx.y and threadIdx.z are uniform in a row.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from warpsmith.devices.cpu.ir import ranges
from warpsmith.devices.cpu.ir.function import Instruction
from warpsmith.devices.cpu.ir.points_to import load_pointer, store_parts
from warpsmith.devices.cpu.ir.ranges import Code, Range
from warpsmith.devices.cpu.ir.uniformity import Uniformity

BLOCK_SIZE: Final = "i64 @llvm.spv.workgroup.size.i64"
_THREAD = re.compile(r"call i64 @llvm\.spv\.thread\.id\.in\.group\.i64\(i32 (?:noundef )?(\d)\)")
_LARGEST_INDEX = (1 << 16) - 1  # no device has larger blocks
_VARIABLE = re.compile(r"alloca (i8|i16|i32|i64),")
_ACCESS = re.compile(r"(?:load|store) (i\d+)[ ,]")
_ARITHMETIC = re.compile(r"(\w+) (?:(?:nsw|nuw|exact|disjoint) )*(i(?:8|16|32|64)) (\S+), ([^\s,]+)")
_CAST = re.compile(r"(sext|zext|trunc) (?:(?:nsw|nuw|nneg) )*(i(?:8|16|32|64)) (\S+) to (i(?:8|16|32|64))")
_BLOCK = "@llvm.spv.group.id."
_SUMS = frozenset({"add", "sub", "trunc", "sext", "zext", "load", "call"})
_ANY_ORDER = frozenset({"add", "sub", "mul"})
_BY_ONE_VALUE = frozenset({"sdiv", "udiv"})
_BY_NUMBER = frozenset({"shl", "ashr", "lshr"})


@dataclass(frozen=True, slots=True)
class Origin:
    """Origins of values: stores to variables; whether anything varies within a row; whether only through sums."""

    stores: tuple[Instruction, ...]
    differs_in_row: bool
    is_sum: bool


class Bounds:
    """Bounds of the requested values. Their code is in `added`, by the id of the instruction it follows."""

    def __init__(self, uniformity: Uniformity, name: str) -> None:
        self._varying = uniformity.divergent_values
        self._name = name
        self._definitions = {
            i.result: i for block in uniformity.function.blocks.values() for i in block.instructions if i.result is not None
        }
        self._stores = self._plain_variables(uniformity)
        self.homes = {id(store): label for label, b in uniformity.function.blocks.items() for store in b.instructions}
        self._found: dict[str, Range] = {}
        self._kinds: dict[str, str] = {}
        self.added: dict[int, list[str]] = {}

    def behind(self, values: Collection[str]) -> Origin | None:
        """Origins of these values; None if they cannot be bounded."""
        stores: dict[int, Instruction] = {}
        seen: set[str] = set()
        pending = list(values)
        while pending:
            value = pending.pop()
            if value in seen or value not in self._varying:
                continue
            seen.add(value)
            sources = self._sources(self._definitions[value])
            if sources is None:
                return None
            pending += sources[0]
            stores |= {id(store): store for store in sources[1]}
        in_row = any((match := _THREAD.match(self._definitions[value].body)) and match[1] == "0" for value in seen)
        is_sum = all(self._definitions[value].opcode in _SUMS for value in seen)
        return Origin(tuple(stores.values()), in_row, is_sum)

    def depends_on_block(self, values: Collection[str]) -> bool:
        """Whether the values certainly differ between blocks."""
        seen: set[str] = set()
        pending = list(values)
        while pending:
            definition = self._definitions.get(value := pending.pop())
            if value in seen or definition is None:
                continue
            seen.add(value)
            if _BLOCK in definition.body:
                return True
            if definition.opcode == "load":
                pending += [_stored(store) for store in self._stores.get(self._variable(load_pointer(definition)), ())]
            elif definition.opcode != "call":
                pending += definition.operands
        return False

    def of(self, kind: str, operand: str) -> Range:
        """For operands that `behind` accepts."""
        if operand not in self._varying:
            return Range.of_value(kind, operand)
        if operand not in self._found:
            self._found[operand] = self._computed(self._definitions[operand], kind)
        return self._found[operand]

    def forgetting(self, blocks: Collection[str]) -> list[str]:
        """Code that discards all knowledge of the variables that these blocks write."""
        written = [v for v in self._kinds if any(self.homes[id(store)] in blocks for store in self._stores[v])]
        return [line for variable in written for line in self._forget(variable)]

    def prologue(self) -> list[str]:
        """Code for the function's entry."""
        places = [f"{place} = alloca {kind}" for variable, kind in self._kinds.items() for place in self._places(variable)]
        return [*places, *(line for variable in self._kinds for line in self._forget(variable))]

    def _plain_variables(self, uniformity: Uniformity) -> dict[str, list[Instruction]]:
        """Stores to each integer variable that is only loaded and stored, by name and with its own type."""
        kinds = {name: match[1] for name, i in self._definitions.items() if (match := _VARIABLE.match(i.body))}
        stores: dict[str, list[Instruction]] = {name: [] for name in kinds}
        used_otherwise: set[str] = set()
        for block in uniformity.function.blocks.values():
            for instruction in block.instructions:
                accessed = self._plain_access(instruction, kinds)
                if accessed is not None and instruction.opcode == "store":
                    stores[accessed].append(instruction)
                if instruction.opcode != "addrspacecast":
                    used_otherwise |= {self._variable(operand) for operand in instruction.operands} - {accessed}
        return {name: found for name, found in stores.items() if name not in used_otherwise}

    def _plain_access(self, instruction: Instruction, kinds: dict[str, str]) -> str | None:
        """The variable of a plain load or store."""
        match = _ACCESS.match(instruction.body)
        if match is None:
            return None
        pointer = store_parts(instruction)[1] if instruction.opcode == "store" else load_pointer(instruction)
        variable = self._variable(pointer)
        return variable if kinds.get(variable) == match[1] else None

    def _variable(self, pointer: str) -> str:
        """A pointer's name, or that of the variable it is cast from."""
        name = pointer.rpartition(" ")[2]
        definition = self._definitions.get(name)
        if definition is not None and definition.opcode == "addrspacecast" and definition.operands:
            return self._variable(definition.operands[0])
        return name

    def _sources(self, instruction: Instruction) -> tuple[list[str], list[Instruction]] | None:
        """Values and stores that determine an instruction's bounds."""
        if _THREAD.match(instruction.body):
            return [], []
        if instruction.opcode == "load":
            stores = self._stores.get(self._variable(load_pointer(instruction)))
            return None if stores is None else ([_stored(store) for store in stores], stores)
        if match := _CAST.match(instruction.body):
            return [match[3]], []
        match = _ARITHMETIC.match(instruction.body)
        if match is None:
            return None
        operation, left, right = match[1], match[3], match[4]
        known = (
            (operation in _ANY_ORDER and not (left in self._varying and right in self._varying))
            or (operation in _BY_ONE_VALUE and right not in self._varying)
            or (operation in _BY_NUMBER and right.isdigit())
        )
        return ([left, right], []) if known else None

    def _computed(self, instruction: Instruction, kind: str) -> Range:
        value = str(instruction.result)
        code = Code(f"{value}.{self._name}")
        found = self._bounds(instruction, kind, code)
        if code.lines:
            self.added[id(instruction)] = code.lines
        return found

    def _bounds(self, instruction: Instruction, kind: str, code: Code) -> Range:
        value = str(instruction.result)
        if match := _THREAD.match(instruction.body):
            if match[1] != "0":
                return Range("i64", value, value, 0, _LARGEST_INDEX)
            size = code.add(f"call {BLOCK_SIZE}(i32 0)")
            return Range("i64", "0", code.add(f"sub i64 {size}, 1"), 0, _LARGEST_INDEX)
        if instruction.opcode == "load":
            variable = self._variable(load_pointer(instruction))
            self._bound(variable, kind)
            low, high = (code.add(f"load {kind}, ptr {place}") for place in self._places(variable))
            return Range(kind, low, high, *ranges.ends(kind))
        if match := _CAST.match(instruction.body):
            operand = self.of(match[2], match[3])
            return Range.of_value(kind, value) if operand.is_one_value else ranges.cast(code, match[1], operand, match[4])
        match = _ARITHMETIC.match(instruction.body)
        assert match is not None, instruction.text
        left, right = self.of(kind, match[3]), self.of(kind, match[4])
        if left.is_one_value and right.is_one_value:
            return Range.of_value(kind, value)
        return ranges.arithmetic(code, match[1], left, right)

    def _bound(self, variable: str, kind: str) -> None:
        """Every store to the variable gets stores of its bounds."""
        if variable in self._kinds:
            return
        self._kinds[variable] = kind
        for store in self._stores[variable]:
            stored = self.of(kind, _stored(store))
            places = zip((stored.low, stored.high), self._places(variable), strict=True)
            self.added[id(store)] = [f"store {kind} {end}, ptr {place}" for end, place in places]

    def _places(self, variable: str) -> tuple[str, str]:
        return f"{variable}.{self._name}.low", f"{variable}.{self._name}.high"

    def _forget(self, variable: str) -> list[str]:
        kind = self._kinds[variable]
        return [f"store {kind} {end}, ptr {place}" for end, place in zip(ranges.ends(kind), self._places(variable), strict=True)]


def _stored(store: Instruction) -> str:
    return store_parts(store)[0].rpartition(" ")[2]
