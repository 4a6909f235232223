"""Inserts warp barriers where lanes exchange values through shared memory without one.

    if (t < 32) { s[t] += s[t + 16];  s[t] += s[t + 8];  … }         if (lane == 0) s[warp] = x;  y = s[warp];

Formally this needs `__syncwarp`, but lockstep execution made it work, and old code relies on it. So a write to shared memory gets
a warp barrier before and after it, if

* a read of the same object follows before any barrier and may give another lane's value (`own_slots`); or
* a higher lane has read the place just before (`s[t] = s[t - 1]`): threads run in ascending order here, so the lane
  would read the new value.

(The same for `volatile` memory: `warp_synchronous`.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from warpsmith.devices.cpu.ir.accesses import Access, accesses
from warpsmith.devices.cpu.ir.function import Instruction
from warpsmith.devices.cpu.ir.own_slots import OwnSlots
from warpsmith.devices.cpu.ir.uniformity import Uniformity
from warpsmith.devices.cpu.ir.warp_synchronous import IN_STEP

_LANES = 32


@dataclass(frozen=True, slots=True)
class _Later:
    """An access that follows another without a barrier between, and changes since then to the first one's address."""

    place: tuple[str, int]
    access: Access
    changed: frozenset[str]


def keep_exchanges_in_step(uniformity: Uniformity, shared: frozenset[str]) -> bool:
    """Changes the analysed function in place; whether it did. `shared` are the names of objects in shared memory."""
    function = uniformity.function
    slots = OwnSlots(uniformity, shared)
    barrier = Instruction.parse(IN_STEP)
    handing_over: set[tuple[str, int]] = set()
    for label, block in function.blocks.items():
        for index, instruction in enumerate(block.instructions):
            for access in accesses(instruction):
                objects = uniformity.points_to.targets(access.pointer) & shared
                if not objects:
                    continue
                following = _following(uniformity, slots, access, objects, (label, index + 1))
                if not access.is_write:
                    handing_over |= {later.place for later in following if _overwrites(slots, access, later)}
                elif any(_hands_over(slots, access, later, label) for later in following):
                    handing_over.add((label, index))
    for label, index in sorted(handing_over, reverse=True):
        code = function.blocks[label].instructions
        code[index : index + 1] = [barrier, code[index], barrier]
    return bool(handing_over)


def _hands_over(slots: OwnSlots, write: Access, later: _Later, written_in: str) -> bool:
    read = later.access
    if read.is_write and not read.is_atomic:
        return False
    # Two atomic operations need no order between them: a histogram is one.
    if (read.is_atomic and write.is_atomic) or slots.reads_back(later.place, read, write, written_in):
        return False
    apart = slots.distance(write, read, later.changed)
    return apart is None or (apart.lanes is not None and 0 < abs(apart.lanes) < _LANES)


def _overwrites(slots: OwnSlots, read: Access, later: _Later) -> bool:
    if not later.access.is_write:
        return False
    apart = slots.distance(later.access, read, later.changed)
    return apart is not None and apart.lanes is not None and -_LANES < apart.lanes < 0


def _following(
    uniformity: Uniformity, slots: OwnSlots, first: Access, objects: set[str], start: tuple[str, int]
) -> Iterator[_Later]:
    """The accesses to these objects from here to the next barrier."""
    watched = slots.changing_names(first)
    seen: dict[str, frozenset[str]] = {}
    pending = [(*start, frozenset[str]())]
    while pending:
        label, index, changed = pending.pop()
        for position in range(index, len(code := uniformity.function.blocks[label].instructions)):
            instruction = code[position]
            if instruction.opcode == "call" and "__spirv_ControlBarrier" in instruction.text:
                break
            for access in accesses(instruction):
                if uniformity.points_to.targets(access.pointer) & objects:
                    yield _Later((label, position), access, changed)
            changed |= slots.changed_by(instruction, watched)
        else:
            for target in uniformity.flow.successors[label]:
                if target not in seen or not changed <= seen[target]:
                    seen[target] = seen.get(target, frozenset()) | changed
                    pending.append((target, 0, seen[target]))
