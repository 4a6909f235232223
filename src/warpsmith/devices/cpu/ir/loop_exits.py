"""Has what threads take along out of a loop look as different as it is.

    for (i = 0; i < n; ++i)
      if (x < rows[i].begin) { out = rows[i].value; break; }

In every trip `i` is the same for all threads; afterwards it is not, for they left in different trips. The runtime's vectoriser
forgets that of addresses: it reads `rows[i].value` for all lanes of a vector where one of them left. So at the exits of a loop
that threads leave one by one, the variables that were the same for all become null for a thread beyond the end of the block: only
we know that there is none. And what the loop reads for later (`late_loads`) is kept from being read later.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from warpsmith.devices.cpu.ir.function import Block, Function, Instruction
from warpsmith.devices.cpu.ir.late_loads import late_loads, variables_written
from warpsmith.devices.cpu.ir.module import Module
from warpsmith.devices.cpu.ir.parts import Part, parts_of
from warpsmith.devices.cpu.ir.points_to import PointsTo, load_pointer, names_in, store_parts, transfer_parts
from warpsmith.devices.cpu.ir.uniformity import Uniformity, is_thread_source

_THREAD, _SIZE = "i64 @llvm.spv.thread.id.in.group.i64", "i64 @llvm.spv.workgroup.size.i64"


def part_loop_exits(module: Module, name: str) -> bool:
    """Changes a function whose calls are inlined, and says whether it did."""
    function = Function.parse(module.functions[name])
    if not _has_loops(function):
        return False
    function.hoist_casts_of_allocas()
    uniformity = Uniformity(function, frozenset(module.functions) - {name}, let_leave=False)
    leaving = _left_one_by_one(uniformity)
    if not leaving:
        return False
    variables = parts_of(module, function)
    parted = _parted(uniformity, leaving, variables)
    if not parted:
        return False
    # Nested loops share loads, and `return` leaves them for the same block: each is changed once.
    for label, load in dict.fromkeys(late for loop in parted for late in loop.late):
        _keep_in_place(function.blocks[label], load)
    for target in dict.fromkeys(target for loop in parted for target in loop.taken_along):
        taken_along = frozenset[str]().union(*(loop.taken_along.get(target, ()) for loop in parted))
        _have_differ(function.blocks[target], [part for variable in sorted(taken_along) for part in variables[variable]])
    module.replace(name, function.lines)
    text = module.text
    module.pieces += [(None, [f"declare {name}(i32)"]) for name in (_THREAD, _SIZE) if f"declare {name}(" not in text]
    return True


def _left_one_by_one(uniformity: Uniformity) -> dict[str, frozenset[str]]:
    """The loops, by their heads, that not all threads leave together. Most are not among them."""

    def is_left(blocks: frozenset[str]) -> bool:
        leaving = (label for label in blocks if not blocks.issuperset(uniformity.flow.successors[label]))
        return not uniformity.divergent_branches.isdisjoint(leaving)

    return {head: blocks for head, blocks in uniformity.flow.loops().items() if is_left(blocks)}


@dataclass(frozen=True, slots=True)
class _Loop:
    taken_along: dict[str, set[str]]  # a block behind the loop: variables that are read from there on as the loop left them
    late: list[tuple[str, Instruction]]  # (block, load)


def _parted(uniformity: Uniformity, loops: Mapping[str, frozenset[str]], variables: dict[str, list[Part]]) -> list[_Loop]:
    """Those that something is taken along from."""
    function, flow, points_to = uniformity.function, uniformity.flow, uniformity.points_to
    values, objects = _varying([i for block in function.blocks.values() for i in block.instructions], points_to)
    same = variables.keys() - objects
    found: list[_Loop] = []
    for head, blocks in loops.items():
        written = same & _written_in(function, points_to, blocks)
        outside = [out for label in blocks for out in flow.successors[label] if out not in blocks]
        taken_along = {
            target: taken
            for target in dict.fromkeys(outside if written else ())
            if (taken := written & _read_in(function, points_to, flow.reachable([target], head)))
        }
        structures = {name for taken in taken_along.values() for name in taken if variables[name][0].is_member}
        loads = late_loads(function, points_to, (head, blocks), structures)
        late = [(label, i) for label, i in loads if values.isdisjoint(i.operands)]
        if taken_along or late:
            found.append(_Loop(taken_along, late))
    return found


def _has_loops(function: Function) -> bool:
    """Some branch goes back: blocks stand in the order of the source."""
    place = {label: number for number, label in enumerate(function.blocks)}
    return any(place[target] <= place[label] for label, block in function.blocks.items() for target in block.successors)


def _varying(instructions: list[Instruction], points_to: PointsTo) -> tuple[set[str], set[str]]:
    """(values, variables) that depend on the thread, by the values alone: which way it went is not asked."""
    values: set[str] = set()
    objects: set[str] = set()
    known = -1
    while known != len(values) + len(objects):
        known = len(values) + len(objects)
        for i in instructions:
            if i.opcode == "store":
                value, pointer = store_parts(i)
                if not values.isdisjoint(names_in(value)) or not values.isdisjoint(names_in(pointer)):
                    objects |= points_to.private_targets(pointer)
            elif (transfer := transfer_parts(i)) is not None:
                if not values.isdisjoint(i.operands) or not objects.isdisjoint(points_to.private_targets(transfer[1])):
                    objects |= points_to.private_targets(transfer[0])
            elif i.opcode == "call" and i.result is None and "llvm.memset" not in (i.callee or ""):
                objects |= points_to.private_targets(i.body)  # whatever it does
            elif i.result is not None and i.result not in values and _depends(i, values, objects, points_to):
                values.add(i.result)
    return values, objects


def _depends(i: Instruction, values: set[str], objects: set[str], points_to: PointsTo) -> bool:
    if i.opcode in {"atomicrmw", "cmpxchg"} or is_thread_source(i):
        return True
    if i.opcode == "load" and not objects.isdisjoint(points_to.private_targets(load_pointer(i))):
        return True
    return not values.isdisjoint(i.operands)


def _written_in(function: Function, points_to: PointsTo, blocks: Collection[str]) -> set[str]:
    instructions = (i for label in blocks for i in function.blocks[label].instructions)
    return {variable for i in instructions for variable in variables_written(i, points_to)}


def _read_in(function: Function, points_to: PointsTo, blocks: Collection[str]) -> set[str]:
    read: set[str] = set()
    for i in (i for label in blocks for i in function.blocks[label].instructions):
        if i.opcode == "load":
            read |= points_to.private_targets(load_pointer(i))
        elif (transfer := transfer_parts(i)) is not None:
            read |= points_to.private_targets(transfer[1])
    return read


def _never(prefix: str) -> list[str]:
    return [
        f"{prefix}.thread = call {_THREAD}(i32 0)",
        f"{prefix}.size = call {_SIZE}(i32 0)",
        f"{prefix}.never = icmp uge i64 {prefix}.thread, {prefix}.size",
    ]


def _have_differ(block: Block, parts: list[Part]) -> None:
    prefix = f"%{block.label}.exit"
    lines = _never(prefix)
    for number, part in enumerate(parts):
        place, value, moved = f"{prefix}.place{number}", f"{prefix}.value{number}", f"{prefix}.moved{number}"
        nothing = "null" if part.kind.startswith("ptr") else "0" if part.kind.startswith("i") else "0.0"
        lines += [
            f"{place} = {part.address}",
            f"{value} = load {part.kind}, ptr {place}",
            f"{moved} = select i1 {prefix}.never, {part.kind} {nothing}, {part.kind} {value}",
            f"store {part.kind} {moved}, ptr {place}",
        ]
    first = next(n for n, i in enumerate(block.instructions) if i.opcode != "phi")
    block.instructions[first:first] = [Instruction.parse(f"  {line}") for line in lines]


def _keep_in_place(block: Block, load: Instruction) -> None:
    """What is volatile is read where it stands. Addresses that look different do not help: their base is taken from one lane."""
    if " = load volatile " in load.text or " = load atomic " in load.text:
        return
    before, after = (" = load ", " = load volatile ") if load.opcode == "load" else (", i1 false)", ", i1 true)")
    block.instructions[block.instructions.index(load)] = Instruction.parse(load.text.replace(before, after, 1))
