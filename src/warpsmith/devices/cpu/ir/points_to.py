"""What each pointer of a function may point to: flow-insensitive, field-insensitive, after everything is inlined.

Enough to tell a thread's own variables (allocas, reached directly, through references, `this` or lambda captures) from memory
that threads share.
"""

from __future__ import annotations

import re
from collections import defaultdict
from functools import lru_cache
from typing import Final

from warpsmith.devices.cpu.ir.function import Function, Instruction
from warpsmith.devices.cpu.ir.module import NAME

EXTERNAL: Final = "(external)"
_NAMES = re.compile(rf"[%@]{NAME}")
_TRANSFERS = frozenset({"memcpy", "memmove"})


@lru_cache(maxsize=1 << 14)
def operands(text: str) -> tuple[str, ...]:
    """The comma-separated operands of an instruction's body, split outside brackets."""
    parts: list[str] = []
    depth = start = 0
    for index, character in enumerate(text):
        if character in "([{<":
            depth += 1
        elif character in ")]}>":
            depth -= 1
        elif character == "," and depth == 0:
            parts.append(text[start:index].strip())
            start = index + 1
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
    callee = instruction.callee or ""
    if not any(f"llvm.{name}" in callee for name in _TRANSFERS):
        return None
    arguments = operands(instruction.text[instruction.text.index(f"@{callee}(") + len(callee) + 2 : instruction.text.rindex(")")])
    return arguments[0], arguments[1]


@lru_cache(maxsize=1 << 14)
def names_in(text: str) -> tuple[str, ...]:
    return tuple(_NAMES.findall(text))


class PointsTo:
    def __init__(self, function: Function, parameters: frozenset[str]) -> None:
        self.allocas = frozenset(
            i.result for block in function.blocks.values() for i in block.instructions if i.opcode == "alloca" and i.result
        )
        self._values: defaultdict[str, set[str]] = defaultdict(set)
        self._contents: defaultdict[str, set[str]] = defaultdict(set)
        self._contents[EXTERNAL].add(EXTERNAL)
        for name in parameters:
            self._values[name].add(EXTERNAL)
        instructions = [i for block in function.blocks.values() for i in block.instructions]
        while any([self._step(instruction) for instruction in instructions]):  # noqa: C419 - every instruction takes its step
            pass

    def targets(self, text: str) -> set[str]:
        """The objects that an operand (a name or a constant expression) may point to."""
        found: set[str] = set()
        for name in names_in(text):
            found |= {name} if name.startswith("@") else self._values[name]
        return found

    def private_targets(self, text: str) -> set[str]:
        return self.targets(text) & self.allocas

    def _content(self, target: str) -> set[str]:
        return self._contents[target] | ({EXTERNAL} if target.startswith("@") else set())

    def _step(self, instruction: Instruction) -> bool:
        if instruction.opcode == "store":
            value, pointer = store_parts(instruction)
            return self._fill(self.targets(pointer), self.targets(value))
        if (transfer := transfer_parts(instruction)) is not None:
            content = set().union(*(self._content(target) for target in self.targets(transfer[1])))
            return self._fill(self.targets(transfer[0]), content)
        if instruction.result is None:
            return False
        known = self._values[instruction.result]
        new: set[str]
        match instruction.opcode:
            case "alloca":
                new = {instruction.result}
            case "load":
                new = set().union(*(self._content(target) for target in self.targets(load_pointer(instruction))))
            case "call":
                new = self.targets(instruction.body) | {EXTERNAL}
            case "inttoptr" | "atomicrmw" | "cmpxchg":
                new = self.targets(instruction.body) | {EXTERNAL}
            case _:
                new = self.targets(instruction.body)
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
