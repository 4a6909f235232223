"""Keeps warps in step where lanes hand values to each other through shared memory without a barrier.

    if (t < 32) { s[t] += s[t + 16];  s[t] += s[t + 8];  … }         s[lane] = x;  y = s[31 - lane];

Formally this needs `__syncwarp`, but lanes that move together have always made it work, and old code relies on it. So a store to
shared memory gets a warp barrier before and after it, if a load of the same object at another address follows before any barrier.
A thread that reads back what it has written itself needs none. (The same for `volatile` memory: `warp_synchronous`.)
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from warpsmith.devices.cpu.ir.function import Function, Instruction
from warpsmith.devices.cpu.ir.module import NAME
from warpsmith.devices.cpu.ir.points_to import load_pointer, store_parts
from warpsmith.devices.cpu.ir.uniformity import Uniformity
from warpsmith.devices.cpu.ir.warp_synchronous import IN_STEP

_DEPTH = 16  # of the expressions that are compared
_LOCAL = re.compile(rf"%{NAME}")


def keep_exchanges_in_step(uniformity: Uniformity, shared: frozenset[str]) -> bool:
    """Changes the analysed function in place, and says whether it did. `shared` are the names of objects in shared memory."""
    function = uniformity.function
    expressions = Expressions(function)
    barrier = Instruction.parse(IN_STEP)
    handing_over: list[tuple[str, int]] = []
    for label, block in function.blocks.items():
        for index, instruction in enumerate(block.instructions):
            if instruction.opcode != "store":
                continue
            pointer = store_parts(instruction)[1]
            objects = uniformity.points_to.targets(pointer) & shared
            own = expressions.of(pointer)
            if objects and any(expressions.of(other) != own for other in _reads_after(uniformity, objects, (label, index + 1))):
                handing_over.append((label, index))
    for label, index in reversed(handing_over):
        code = function.blocks[label].instructions
        code[index : index + 1] = [barrier, code[index], barrier]
    return bool(handing_over)


def _reads_after(uniformity: Uniformity, objects: set[str], start: tuple[str, int]) -> Iterator[str]:
    """The pointers through which these objects may be read from here on, before any barrier."""
    seen: set[str] = set()
    pending = [start]
    while pending:
        label, first = pending.pop()
        for instruction in uniformity.function.blocks[label].instructions[first:]:
            if instruction.opcode == "call" and "__spirv_ControlBarrier" in instruction.text:
                break
            if instruction.opcode == "load" and uniformity.points_to.targets(load_pointer(instruction)) & objects:
                yield load_pointer(instruction)
        else:
            for target in uniformity.flow.successors[label]:
                if target not in seen:
                    seen.add(target)
                    pending.append((target, 0))


class Expressions:
    """Operands written out, so that the same computation of an address gives the same text. Variables stand for themselves."""

    def __init__(self, function: Function) -> None:
        instructions = [i for block in function.blocks.values() for i in block.instructions]
        self._definitions = {i.result: i for i in instructions if i.result is not None}
        self._known: dict[str, str] = {}
        written: dict[str, list[str]] = {}
        for instruction in instructions:
            if instruction.opcode == "store":
                value, pointer = store_parts(instruction)
                written.setdefault(self._variable(pointer), []).append(value)
        # What is written once is another name for its value: the copies of parameters that inlining leaves.
        self._once = {name: values[0] for name, values in written.items() if len(values) == 1}

    def of(self, operand: str, depth: int = _DEPTH) -> str:
        return _LOCAL.sub(lambda match: self._value(match[0], depth), operand.rpartition(" ")[2] if depth < _DEPTH else operand)

    def _value(self, name: str, depth: int) -> str:
        if name in self._known:
            return self._known[name]
        definition = self._definitions.get(name)
        if definition is None or depth == 0 or definition.opcode in {"alloca", "phi", "call"}:
            return name
        body = definition.body.partition(", !")[0]
        if definition.opcode == "load":
            variable = self._variable(load_pointer(definition))
            known = self._once.get(variable)
            text = f"[{variable}]" if known is None else self.of(known, depth - 1)
        else:
            text = f"({_LOCAL.sub(lambda match: self._value(match[0], depth - 1), body)})"
        self._known[name] = text
        return text

    def _variable(self, pointer: str) -> str:
        """The pointer's name, or that of the variable it is a cast of."""
        name = pointer.rpartition(" ")[2]
        definition = self._definitions.get(name)
        is_cast = definition is not None and definition.opcode == "addrspacecast" and definition.operands
        return self._variable(definition.operands[0]) if definition is not None and is_cast else name
