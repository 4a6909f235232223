"""Finds values that threads carry out of loops, and marks divergent ones as varying (`twins`).

    for (i = 0; i < n; ++i)                                     for (i = 0; i < n; ++i)
      if (x < rows[i].begin) { out = rows[i].value; break; }      sum += x < 0 ? rows[i].begin : rows[i].value;

In every trip `i` is uniform; after the loop it is not, because threads left in different trips. `sum` would be uniform in each of
two loops, one for either kind of thread, and an optimiser splits the loop that way. The runtime's vectoriser misses this
divergence: for values that merge after loops, and addresses computed from them, it uses one lane's value for the whole vector.
That only affects values that are uniform in every trip; others are safe.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from warpsmith.devices.cpu.ir.byte_flow import ByteFlow
from warpsmith.devices.cpu.ir.function import Function, Instruction
from warpsmith.devices.cpu.ir.module import Module
from warpsmith.devices.cpu.ir.parts import Layout, Part, parts_of
from warpsmith.devices.cpu.ir.places import Places
from warpsmith.devices.cpu.ir.points_to import names_in, store_parts, transfer_parts
from warpsmith.devices.cpu.ir.twins import Edge, Taken, give_twins
from warpsmith.devices.cpu.ir.uniformity import Uniformity

_MOST_UNROLLED = 16  # elements of an array that a loop runs over: if it is unrolled, they become registers


def part_loop_exits(module: Module, name: str) -> bool:
    """Changes a function whose calls are inlined; whether it did."""
    function = Function.parse(module.functions[name])
    if not _has_loops(function):
        return False
    function.hoist_casts_of_allocas()
    uniformity = Uniformity(function, frozenset(module.functions) - {name}, let_leave=False)
    if not uniformity.divergent_branches:
        return False
    layout = Layout(module)
    places, parts = Places(layout, function, uniformity.points_to), parts_of(layout, function)
    taken = _Exits(uniformity, places, parts, ByteFlow(function, uniformity.flow, places, parts)).taken()
    if not taken:
        return False
    give_twins(module, name, function, taken)
    return True


def _has_loops(function: Function) -> bool:
    """Whether some branch goes back: blocks are in source order."""
    place = {label: number for number, label in enumerate(function.blocks)}
    return any(place[target] <= place[label] for label, block in function.blocks.items() for target in block.successors)


@dataclass(frozen=True, slots=True)
class _Exits:
    uniformity: Uniformity
    places: Places
    parts: Mapping[str, list[Part]]
    bytes: ByteFlow

    def taken(self) -> list[Taken]:
        flow = self.uniformity.flow
        loops = flow.loops()
        exits = {
            head: {(label, out) for label in blocks for out in flow.successors[label] if out not in blocks}
            for head, blocks in loops.items()
        }
        parting = [head for head, blocks in loops.items() if self._parts_threads(blocks)]
        live = self.bytes.live() if parting else {}
        needed = {head: what for head in parting if (what := self._needed(loops[head], exits[head], live))}
        values, varying = self.bytes.varying() if needed else (set[str](), dict[str, int]())
        facing = self._facing(loops)
        found: list[Taken] = []
        for head, blocks in loops.items():
            same = 0
            for label, out in exits[head] if head in needed else ():
                same |= needed[head] & live[out] & ~varying[label]
            parts = tuple(self._parts(blocks, needed[head], same, values)) if head in needed else ()
            around = self._way_around(blocks, exits[head]) if head in facing else None
            if parts or around:
                entries = {(label, head) for label in flow.predecessors[head] if label not in blocks}
                found.append(Taken(blocks, frozenset(entries), frozenset(exits[head]), parts, self.places, around))
        return found

    def _needed(self, blocks: frozenset[str], exits: set[Edge], live: Mapping[str, int]) -> int:
        """Variables that the loop writes and later code may read."""
        needed = 0
        for _, out in exits:
            needed |= live[out]
        return needed & self._written(blocks)

    def _parts(self, blocks: frozenset[str], needed: int, same: int, values: set[str]) -> Iterator[tuple[str, Part]]:
        """Of the needed variables, those that are uniform among the threads at some exit, and those that could be read after
        the loop.
        """
        same_of = self.bytes.by_variable(same)
        chosen, in_memory = self._chosen(blocks, values)
        for variable, some in sorted(self.bytes.by_variable(needed).items()):
            if variable in in_memory:
                continue
            whole = variable in chosen or self._is_late(variable, blocks, values)
            for part in self.parts.get(variable, ()):
                if part.bytes & (some if whole else same_of.get(variable, 0)):
                    yield variable, part

    def _parts_threads(self, blocks: frozenset[str]) -> bool:
        """Threads leave it in different trips, or an optimiser may make one loop per kind of thread."""
        flow, branches = self.uniformity.flow, self.uniformity.divergent_branches
        if any(label in branches and not blocks.issuperset(flow.successors[label]) for label in blocks):
            return True
        return not branches.isdisjoint(blocks) and self._has_fixed_choice(blocks)

    def _facing(self, loops: Mapping[str, frozenset[str]]) -> set[str]:
        """Loops on one side of a divergent branch that has a loop on the other side, too."""
        flow = self.uniformity.flow
        found: set[str] = set()
        for label in self.uniformity.divergent_branches:
            join = self.uniformity.postdominators.get(label) or label
            ways = [flow.reachable([target], join) for target in flow.successors[label]]
            common = set.intersection(*ways)
            sides = [{head for head in loops if head in way - common} for way in ways]
            if sum(map(bool, sides)) > 1:
                found |= set().union(*sides)
        return found

    def _way_around(self, blocks: frozenset[str], exits: set[Edge]) -> str | None:
        """Target of a bypass of the loop: no value defined in the loop is used after it."""
        function = self.uniformity.function
        made = {i.result for i in self._instructions(blocks)}
        for label, block in function.blocks.items():
            if label not in blocks and any(not made.isdisjoint(i.operands) for i in block.instructions):
                return None
        targets = {out for _, out in exits}
        plain = (
            label for label in function.blocks if label in targets and function.blocks[label].instructions[0].opcode != "phi"
        )
        return next(plain, None)

    def _has_fixed_choice(self, blocks: frozenset[str]) -> bool:
        """A divergent loop-invariant condition, for which an optimiser may split the loop in two."""
        divergent, changing = self.uniformity.divergent_values, self._changing(blocks)
        for i in self._instructions(blocks):
            decides = i.opcode in {"icmp", "fcmp", "switch"} or (i.opcode == "trunc" and i.body.endswith(" to i1"))
            if decides and changing.isdisjoint(i.operands) and not divergent.isdisjoint(i.operands):
                return True
        return False

    def _changing(self, blocks: frozenset[str]) -> set[str]:
        """Values that may differ from trip to trip."""
        instructions, written = self._instructions(blocks), self._written(blocks)
        changing: set[str] = set()
        known = -1
        while known != len(changing):
            known = len(changing)
            for i in instructions:
                if i.result is None or i.result in changing:
                    continue
                reads = self.places.reads(i)
                if not changing.isdisjoint(i.operands) or any(self.bytes.of(access) & written for access in reads):
                    changing.add(i.result)
        return changing

    def _chosen(self, blocks: frozenset[str], varying: set[str]) -> tuple[set[str], set[str]]:
        """Arrays, elements of which are chosen at run time and written: the same one in all trips, which may become a register;
        others here and there, so that the array stays in memory, each thread's its own. Vectors count with the former.
        """
        changing = self._changing(blocks)
        chosen: set[str] = set()
        in_memory: set[str] = set()
        instructions = self._instructions(blocks)
        inserted = {i.result for i in instructions if i.opcode == "insertelement"}
        for i in instructions:
            if i.opcode == "store" and not inserted.isdisjoint(names_in(store_parts(i)[0])):
                chosen.update(access.variable for access in self.places.writes(i))
            for access in (access for access in self.places.writes(i) if not access.certain):
                names = names_in(store_parts(i)[1]) if i.opcode == "store" else i.operands
                if changing.isdisjoint(names):
                    chosen.add(access.variable)
                elif len(self.parts.get(access.variable, ())) > _MOST_UNROLLED or not varying.isdisjoint(names):
                    in_memory.add(access.variable)
        return chosen, in_memory

    def _instructions(self, blocks: frozenset[str]) -> list[Instruction]:
        return [i for label, block in self.uniformity.function.blocks.items() if label in blocks for i in block.instructions]

    def _written(self, blocks: frozenset[str]) -> int:
        return self.bytes.written(self._instructions(blocks))

    def _is_late(self, variable: str, blocks: frozenset[str], varying: set[str]) -> bool:
        """Whether something goes into it that is read in the loop, at the same address for all, and could as well be read behind.

        Not so where it is made from what it was, as a sum is: that stays in the loop.
        """
        instructions = self._instructions(blocks)
        definitions = {i.result: i for i in instructions if i.result is not None}
        writers: defaultdict[str, list[Instruction]] = defaultdict(list)
        for i in instructions:
            for access in self.places.writes(i):
                writers[access.variable].append(i)

        def is_late(write: Instruction) -> bool:
            pending, seen, found = [write], {write}, False
            while pending:
                i = pending.pop()
                read = {access.variable for access in self.places.reads(i)}
                if variable in read:
                    return False
                copies = i.opcode == "load" or transfer_parts(i) is not None
                found |= copies and not read and varying.isdisjoint(i.operands)
                names = names_in(store_parts(i)[0]) if i.opcode == "store" else i.operands
                made_of = [definitions[name] for name in names if name in definitions]
                made_of += [writer for name in read for writer in writers[name]]
                pending += [other for other in made_of if other not in seen]
                seen.update(made_of)
            return found

        return any(map(is_late, writers[variable]))
