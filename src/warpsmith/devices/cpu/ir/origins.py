"""Objects that each pointer of a function is derived from: its own variables, module variables, parameters. Flow-insensitive.

`points_to` computes what a pointer might reach at most; this computes what it was derived from: an index does not make a
pointer refer to the index's object, and the memory of each parameter is a separate object.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable

from warpsmith.devices.cpu.ir.function import Function, Instruction
from warpsmith.devices.cpu.ir.points_to import EXTERNAL, load_pointer, names_in, operands, store_parts, transfer_parts

_GEP_FLAGS = re.compile(r"^getelementptr (?:(?:inbounds|nuw|nusw|inrange\(.*?\)) )*")
_LOADED = re.compile(r"^load (?:(?:atomic|volatile) )*")
_HOLDS_POINTERS = re.compile(r"ptr|[{%]|i64|i128")  # what a pointer may be copied as
_POINTER_RESULT = re.compile(r"\bptr\b|[{%]")
_FORGETS = frozenset(
    {"icmp", "fcmp", "trunc", "fptoui", "fptosi", "uitofp", "sitofp", "fptrunc", "fpext", "alloca", "atomicrmw", "cmpxchg"}
)


class Origins:
    def __init__(self, function: Function, parameters: Iterable[str]) -> None:
        instructions = [i for block in function.blocks.values() for i in block.instructions]
        self.allocas = {i.result: i for i in instructions if i.opcode == "alloca" and i.result}
        self._values: defaultdict[str, set[str]] = defaultdict(set)
        self._contents: defaultdict[str, set[str]] = defaultdict(set)
        self._contents[EXTERNAL].add(EXTERNAL)
        for name in parameters:
            self._values[name].add(name)
            self._contents[name].add(EXTERNAL)
        for name in self.allocas:
            self._values[name].add(name)
        steps = [step for instruction in instructions if (step := self._step(instruction)) is not None]
        while any([step() for step in steps]):  # noqa: C419 - every one is taken
            pass

    def of(self, operand: str) -> frozenset[str]:
        """Objects that an operand is derived from, including EXTERNAL if unknown."""
        return frozenset(self._of(names_in(operand))) or frozenset({EXTERNAL})

    def _of(self, names: tuple[str, ...]) -> set[str]:
        found: set[str] = set()
        for name in names:
            found |= {name} if name[0] == "@" else self._values[name]
        return found

    def _behind(self, names: tuple[str, ...]) -> set[str]:
        found: set[str] = set()
        for target in self._of(names):
            found |= {EXTERNAL} if target[0] == "@" else self._contents[target]
        return found

    def _step(self, instruction: Instruction) -> Callable[[], bool] | None:
        """Transfer function of an instruction: whether it found anything new. None if it has none."""
        if instruction.opcode == "store":
            value, pointer = map(names_in, store_parts(instruction))
            return lambda: self._fill(pointer, self._of(value))
        if (transfer := transfer_parts(instruction)) is not None:
            to, source = map(names_in, transfer)
            return lambda: self._fill(to, self._behind(source))
        derived = self._derived(instruction)
        name = instruction.result
        return None if derived is None or name is None else lambda: self._add(name, derived())

    def _derived(self, instruction: Instruction) -> Callable[[], set[str]] | None:
        """Of its result."""
        names = names_in(instruction.body)
        match instruction.opcode:
            case "load":
                kind = _LOADED.sub("", operands(instruction.body)[0])
                source = names_in(load_pointer(instruction))
                # A number from memory is a pointer only after inttoptr.
                ruled_out = {EXTERNAL} if kind.startswith("i") else set()
                return (lambda: self._behind(source) - ruled_out) if _HOLDS_POINTERS.match(kind) else None
            case "getelementptr":
                base = names_in(operands(_GEP_FLAGS.sub("", instruction.body))[1])
                return lambda: self._of(base)
            case "inttoptr":
                return lambda: self._of(names) | {EXTERNAL}
            case "call":
                returns_pointer = _POINTER_RESULT.search(instruction.body.partition("@")[0])
                return (lambda: self._of(names) | {EXTERNAL}) if returns_pointer else None
            case opcode if opcode in _FORGETS:
                return None
            case _:
                return lambda: self._of(names)

    def _add(self, name: str, new: set[str]) -> bool:
        known = self._values[name]
        if new <= known:
            return False
        known |= new
        return True

    def _fill(self, pointer: tuple[str, ...], content: set[str]) -> bool:
        changed = False
        for target in self._of(pointer):
            if not content <= self._contents[target]:
                self._contents[target] |= content
                changed = True
        return changed
