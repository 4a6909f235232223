"""Keeps warps in step where lanes hand values to each other through shared memory without a barrier.

    if (t < 32) { s[t] += s[t + 16];  s[t] += s[t + 8];  … }         s[lane] = x;  y = s[31 - lane];

Formally this needs `__syncwarp`, but lanes that move together have always made it work, and old code relies on it. So a store to
shared memory gets a warp barrier before and after it, if a load of the same object at another address follows before any barrier.
A thread that reads back what it has written itself needs none. (The same for `volatile` memory: `warp_synchronous`.)
"""

from __future__ import annotations

from collections.abc import Iterator

from warpsmith.devices.cpu.ir.addresses import Addresses
from warpsmith.devices.cpu.ir.function import Instruction
from warpsmith.devices.cpu.ir.points_to import load_pointer, store_parts
from warpsmith.devices.cpu.ir.uniformity import Uniformity
from warpsmith.devices.cpu.ir.warp_synchronous import IN_STEP


def keep_exchanges_in_step(uniformity: Uniformity, shared: frozenset[str]) -> bool:
    """Changes the analysed function in place, and says whether it did. `shared` are the names of objects in shared memory."""
    function = uniformity.function
    addresses = Addresses(function)
    barrier = Instruction.parse(IN_STEP)
    handing_over: list[tuple[str, int]] = []
    for label, block in function.blocks.items():
        for index, instruction in enumerate(block.instructions):
            if instruction.opcode != "store":
                continue
            pointer = store_parts(instruction)[1]
            objects = uniformity.points_to.targets(pointer) & shared
            own = addresses.of(pointer)
            if objects and any(addresses.of(other) != own for other in _reads_after(uniformity, objects, (label, index + 1))):
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
