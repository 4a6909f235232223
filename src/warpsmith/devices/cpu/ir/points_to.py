"""Points-to sets of a function's pointers: flow-insensitive, field-insensitive, after full inlining.

Precise enough to distinguish a thread's own variables (allocas, reached directly, through references, `this` or lambda
captures) from memory that threads share.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache
from typing import Final

from warpsmith.devices.cpu.ir.function import Function, Instruction
from warpsmith.devices.cpu.ir.module import NAME

EXTERNAL: Final = "(external)"
_BRACKET = re.compile(r"[(\[{<]")
_STRUCTURE = re.compile(r"[(\[{<,>}\])]")
_NAMES = re.compile(rf"[%@]{NAME}")
_TRANSFERS = ("llvm.memcpy", "llvm.memmove")


@lru_cache(maxsize=1 << 14)
def operands(text: str) -> tuple[str, ...]:
    """The comma-separated operands of an instruction's body, split outside brackets."""
    if _BRACKET.search(text) is None:
        return tuple(part.strip() for part in text.split(","))
    parts: list[str] = []
    depth = start = 0
    for match in _STRUCTURE.finditer(text):
        character = match[0]
        if character in "([{<":
            depth += 1
        elif character != ",":
            depth -= 1
        elif depth == 0:
            parts.append(text[start : match.start()].strip())
            start = match.end()
    parts.append(text[start:].strip())
    return tuple(parts)


def store_parts(instruction: Instruction) -> tuple[str, str]:
    """(value, pointer) of a store, as text."""
    value, pointer, *_ = operands(instruction.body)
    return value, pointer


def load_pointer(instruction: Instruction) -> str:
    return operands(instruction.body)[1]


def transfer_parts(instruction: Instruction) -> tuple[str, str] | None:
    """(destination, source) if the instruction copies memory."""
    callee = instruction.callee
    if callee is None or not any(name in callee for name in _TRANSFERS):
        return None
    arguments = operands(instruction.text[instruction.text.index(f"@{callee}(") + len(callee) + 2 : instruction.text.rindex(")")])
    return arguments[0], arguments[1]


@lru_cache(maxsize=1 << 14)
def names_in(text: str) -> tuple[str, ...]:
    return tuple(_NAMES.findall(text))


class _Kind(Enum):
    """How an instruction propagates pointers."""

    COPY = auto()  # its result points where its operands do
    ANSWER = auto()  # and to memory that somebody else knows
    LOAD = auto()  # its result points where the content of what it reads does
    STORE = auto()  # the content of what it writes points where its value does
    TRANSFER = auto()  # … or where the content of what it copies does


@dataclass(frozen=True, slots=True)
class _Flow:
    kind: _Kind
    result: str
    sources: tuple[str, ...]  # names
    destinations: tuple[str, ...] = ()


class PointsTo:
    def __init__(self, function: Function, parameters: frozenset[str]) -> None:
        instructions = [i for block in function.blocks.values() for i in block.instructions]
        self.allocas = frozenset(i.result for i in instructions if i.opcode == "alloca" and i.result)
        self._values: defaultdict[str, set[str]] = defaultdict(set)
        self._contents: defaultdict[str, set[str]] = defaultdict(set)
        self._contents[EXTERNAL].add(EXTERNAL)
        for name in parameters:
            self._values[name].add(EXTERNAL)
        for name in self.allocas:
            self._values[name].add(name)
        # Parsed once, iterated to a fixed point.
        flows = [flow for instruction in instructions if (flow := _flow(instruction)) is not None]
        while any([self._step(flow) for flow in flows]):  # noqa: C419 - every one takes its step
            pass

    def targets(self, text: str) -> set[str]:
        """Objects that an operand (a name or a constant expression) may point to."""
        return set(self._targets(names_in(text)))

    def private_targets(self, text: str) -> set[str]:
        return self._targets(names_in(text)) & self.allocas

    def _targets(self, names: tuple[str, ...]) -> set[str]:
        """Must not be modified: usually there is one name, and its set is returned without a copy."""
        if len(names) == 1 and names[0][0] != "@":
            return self._values[names[0]]
        found: set[str] = set()
        for name in names:
            if name[0] == "@":
                found.add(name)
            else:
                found |= self._values[name]
        return found

    def _content(self, targets: set[str]) -> set[str]:
        found: set[str] = set()
        for target in targets:
            found |= self._contents[target]
            if target[0] == "@":
                found.add(EXTERNAL)
        return found

    def _step(self, flow: _Flow) -> bool:
        new = self._targets(flow.sources)
        match flow.kind:
            case _Kind.STORE:
                return self._fill(self._targets(flow.destinations), new)
            case _Kind.TRANSFER:
                return self._fill(self._targets(flow.destinations), self._content(new))
            case _Kind.LOAD:
                new = self._content(new)
            case _Kind.ANSWER:
                new = new | {EXTERNAL}
            case _Kind.COPY:
                pass
        known = self._values[flow.result]
        if new <= known:
            return False
        known |= new
        return True

    def _fill(self, targets: set[str], content: set[str]) -> bool:
        changed = False
        for target in targets:
            if not content <= self._contents[target]:
                self._contents[target] |= content
                changed = True
        return changed


def _flow(instruction: Instruction) -> _Flow | None:
    """What the instruction propagates; None for nothing."""
    result = instruction.result or ""
    if instruction.opcode == "store":
        value, pointer = store_parts(instruction)
        return _Flow(_Kind.STORE, "", names_in(value), names_in(pointer))
    if (transfer := transfer_parts(instruction)) is not None:
        return _Flow(_Kind.TRANSFER, "", names_in(transfer[1]), names_in(transfer[0]))
    if not result or instruction.opcode == "alloca":
        return None
    match instruction.opcode:
        case "load":
            return _Flow(_Kind.LOAD, result, names_in(load_pointer(instruction)))
        case "call" | "inttoptr" | "atomicrmw" | "cmpxchg":
            return _Flow(_Kind.ANSWER, result, names_in(instruction.body))
        case _:
            return _Flow(_Kind.COPY, result, names_in(instruction.body))
