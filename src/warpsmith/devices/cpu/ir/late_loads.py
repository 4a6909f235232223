"""Finds loads inside a loop whose values only those need who leave it.

    for (i = 0; i < n; ++i) {
      float value = rows[i].value;
      if (x < rows[i].begin) { out = value; break; }
    }

An optimiser moves them behind the loop, with the address as it was inside: the one that `loop_exits` has not made to differ.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator

from warpsmith.devices.cpu.ir.function import Function, Instruction
from warpsmith.devices.cpu.ir.points_to import PointsTo, load_pointer, names_in, store_parts, transfer_parts


def late_loads(
    function: Function, points_to: PointsTo, loop: tuple[str, Collection[str]], structures: Collection[str]
) -> Iterator[tuple[str, Instruction]]:
    """(block, load or copy of memory that is not the thread's own) for one loop, given by its head and its blocks.

    Of `structures`, which are read behind the loop, it may need one member and not the other: what fills them counts as late.
    """
    head, blocks = loop
    instructions = [i for label in blocks for i in function.blocks[label].instructions]
    # Values and variables on which depend the loop's way, what it writes, and its next trip: a sum is not moved out of its loop.
    needed = _carried(function, points_to, head, blocks)
    structures = set(structures) - needed
    known = -1
    while known != len(needed):
        known = len(needed)
        for i in reversed(instructions):
            if _is_needed(i, needed, points_to):
                needed.update(set(i.operands).difference(structures))
                needed |= _variables_read(i, points_to).difference(structures)
    for label in blocks:
        for i in function.blocks[label].instructions:
            if _is_needed(i, needed, points_to):
                continue
            transfer = transfer_parts(i)
            source = load_pointer(i) if i.opcode == "load" else transfer[1] if transfer is not None else None
            if source is not None and not points_to.private_targets(source):
                yield label, i


def _carried(function: Function, points_to: PointsTo, head: str, blocks: Collection[str]) -> set[str]:
    """Variables that a trip may read before it writes them, and makes anew from what they were."""
    written_before: dict[str, set[str]] = {head: set()}  # on every way to the block
    carried: set[str] = set()
    waiting = [head]
    while waiting:
        label = waiting.pop()
        written = set(written_before[label])
        for i in function.blocks[label].instructions:
            carried |= _variables_read(i, points_to) - written
            written |= variables_written(i, points_to)
        for following in function.blocks[label].successors:
            if following not in blocks or following == head:
                continue
            known = written_before.get(following)
            if known is None or not known <= written:
                written_before[following] = written if known is None else known & written
                waiting.append(following)
    return carried & _made_of_themselves([i for label in blocks for i in function.blocks[label].instructions], points_to)


def _made_of_themselves(instructions: list[Instruction], points_to: PointsTo) -> set[str]:
    """Variables whose new value depends on their old one, maybe through others."""
    made_of: defaultdict[str, set[str]] = defaultdict(set)  # values and variables alike
    changed = True
    while changed:
        changed = False
        for i in instructions:
            sources = _variables_read(i, points_to) | set(i.operands)
            sources = sources.union(*(made_of[name] for name in sources))
            written = points_to.private_targets(store_parts(i)[1]) if i.opcode == "store" else {i.result} if i.result else set()
            if i.opcode == "store":  # where it is stored is no part of it
                value = names_in(store_parts(i)[0])
                sources = set(value).union(*(made_of[name] for name in value))
            for name in written:
                changed |= not sources <= made_of[name]
                made_of[name] |= sources
    return {name for name in points_to.allocas if name in made_of[name]}


def _is_needed(i: Instruction, needed: set[str], points_to: PointsTo) -> bool:
    if i.result is not None:
        return i.result in needed or i.opcode in {"atomicrmw", "cmpxchg"}
    if i.opcode == "store":
        written = points_to.targets(store_parts(i)[1])
    elif (transfer := transfer_parts(i)) is not None:
        written = points_to.targets(transfer[0])
    else:
        return True
    return not written <= points_to.allocas or not written.isdisjoint(needed)


def variables_written(i: Instruction, points_to: PointsTo) -> set[str]:
    """By a store or a copy."""
    if i.opcode == "store":
        return points_to.private_targets(store_parts(i)[1])
    transfer = transfer_parts(i)
    return points_to.private_targets(transfer[0]) if transfer is not None else set()


def _variables_read(i: Instruction, points_to: PointsTo) -> set[str]:
    if i.opcode == "load":
        return points_to.private_targets(load_pointer(i))
    if (transfer := transfer_parts(i)) is not None:
        return points_to.private_targets(transfer[1])
    return points_to.private_targets(i.body) if i.opcode == "call" else set()
