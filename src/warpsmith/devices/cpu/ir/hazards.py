"""Inserts a missing barrier between reading a shared result and overwriting it.

    __syncthreads();  best = shared[0];  …  shared[threadIdx.x] = next;  __syncthreads();

That is a race, but benign on hardware: all warps read soon after the barrier, and the overwrite comes much later. Here groups of
threads run one after another from barrier to barrier, and all but the first would read the new value. So if all threads read the
same place of shared memory and a store to the same object follows without a barrier between, one is inserted before the store.
Kernels without the race have no such store and do not change.
"""

from __future__ import annotations

import re

from warpsmith.devices.cpu.ir.accesses import accesses
from warpsmith.devices.cpu.ir.function import Instruction
from warpsmith.devices.cpu.ir.points_to import load_pointer
from warpsmith.devices.cpu.ir.uniformity import Uniformity, is_barrier

_BARRIER = re.compile(r"^\s*(?:tail )?call .*__spirv_ControlBarrier\w*\(i32 (?:noundef )?2,")


def separate_reads_from_overwrites(uniformity: Uniformity, shared: frozenset[str]) -> bool:
    """Changes the analysed function in place; whether it did. `shared` are the names of objects in shared memory."""
    blocks = uniformity.function.blocks
    places: set[tuple[str, int]] = set()
    for label, block in blocks.items():
        if uniformity.is_uniform(label):
            for index, instruction in enumerate(block.instructions):
                objects = _read_by_all(instruction, uniformity) & shared
                if objects:
                    places |= _overwrites(uniformity, objects, label, index + 1)
    barrier = next((i.text for block in blocks.values() for i in block.instructions if _BARRIER.match(i.text)), None)
    if barrier is None or not places:
        return False
    plain = Instruction.parse(barrier.partition(", !dbg")[0])
    for label, index in sorted(places, reverse=True):
        blocks[label].instructions.insert(index, plain)
    return True


def _read_by_all(instruction: Instruction, uniformity: Uniformity) -> set[str]:
    if instruction.opcode != "load":
        return set()
    pointer = load_pointer(instruction)
    return set() if uniformity.is_divergent(pointer) else uniformity.points_to.targets(pointer)


def _overwrites(uniformity: Uniformity, objects: set[str], label: str, start: int) -> set[tuple[str, int]]:
    """Positions for barriers: before stores to the objects, or before the branch that leads some threads to one."""
    blocks = uniformity.function.blocks
    found: set[tuple[str, int]] = set()
    seen: set[tuple[str, str | None]] = set()
    pending: list[tuple[str, int, str | None]] = [(label, start, None)]  # and the block that led into divergent flow
    while pending:
        here, first, divided_at = pending.pop()
        code = blocks[here].instructions
        for index in range(first, len(code)):
            if is_barrier(code[index]):
                break
            if _written(code[index], uniformity) & objects:
                found.add((here, index) if divided_at is None else (divided_at, len(blocks[divided_at].instructions) - 1))
                break
        else:
            for target in uniformity.flow.successors[here]:
                divided = None if uniformity.is_uniform(target) else divided_at or here
                if (target, divided) not in seen:
                    seen.add((target, divided))
                    pending.append((target, 0, divided))
    return found


def _written(instruction: Instruction, uniformity: Uniformity) -> set[str]:
    return {
        target for access in accesses(instruction) if access.is_write for target in uniformity.points_to.targets(access.pointer)
    }
