"""Finds what threads take along out of loops, and has it look as different as it is (`twins`).

    for (i = 0; i < n; ++i)                                     for (i = 0; i < n; ++i)
      if (x < rows[i].begin) { out = rows[i].value; break; }      sum += x < 0 ? rows[i].begin : rows[i].value;

In every trip `i` is the same for all threads; afterwards it is not, for they left in different trips. `sum` would be the same in
each of two loops, one for either kind of thread, and an optimiser makes two of the one. The runtime's vectoriser loses sight of
such differences: values that come together behind loops, and addresses made of them, it takes from one lane of a vector for all.
It does so only with values that are the same for all threads in every trip; others are safe.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from warpsmith.devices.cpu.ir.function import Function, Instruction
from warpsmith.devices.cpu.ir.module import Module
from warpsmith.devices.cpu.ir.parts import Layout, Part, parts_of
from warpsmith.devices.cpu.ir.places import Places
from warpsmith.devices.cpu.ir.points_to import load_pointer, names_in, store_parts, transfer_parts
from warpsmith.devices.cpu.ir.twins import Edge, Taken, give_twins
from warpsmith.devices.cpu.ir.uniformity import Uniformity, is_thread_source

_MOST_UNROLLED = 16  # elements of an array that a loop runs over: if it is unrolled, they become registers
Bytes = defaultdict[str, int]  # of variables: one bit for each


def part_loop_exits(module: Module, name: str) -> bool:
    """Changes a function whose calls are inlined, and says whether it did."""
    function = Function.parse(module.functions[name])
    if not _has_loops(function):
        return False
    function.hoist_casts_of_allocas()
    uniformity = Uniformity(function, frozenset(module.functions) - {name}, let_leave=False)
    if not uniformity.divergent_branches:
        return False
    layout = Layout(module)
    exits = _Exits(uniformity, Places(layout, function, uniformity.points_to), parts_of(layout, function))
    taken = exits.taken()
    if not taken:
        return False
    give_twins(module, name, function, taken)
    return True


def _has_loops(function: Function) -> bool:
    """Some branch goes back: blocks stand in the order of the source."""
    place = {label: number for number, label in enumerate(function.blocks)}
    return any(place[target] <= place[label] for label, block in function.blocks.items() for target in block.successors)


@dataclass(frozen=True, slots=True)
class _Exits:
    uniformity: Uniformity
    places: Places
    parts: Mapping[str, list[Part]]

    def taken(self) -> list[Taken]:
        flow = self.uniformity.flow
        loops = flow.loops()
        exits = {
            head: {(label, out) for label in blocks for out in flow.successors[label] if out not in blocks}
            for head, blocks in loops.items()
        }
        parting = [head for head, blocks in loops.items() if self._parts_threads(blocks)]
        live = self._live() if parting else {}
        needed = {head: what for head in parting if (what := self._needed(loops[head], exits[head], live))}
        values, varying = self._varying() if needed else (set[str](), dict[str, dict[str, int]]())
        facing = self._facing(loops)
        found: list[Taken] = []
        for head, blocks in loops.items():
            same: Bytes = defaultdict(int)
            for label, out in exits[head] if head in needed else ():
                for variable, some in needed[head].items():
                    same[variable] |= some & live[out].get(variable, 0) & ~varying[label].get(variable, 0)
            parts = tuple(self._parts(blocks, needed[head], same, values)) if head in needed else ()
            around = self._way_around(blocks, exits[head]) if head in facing else None
            if parts or around:
                entries = {(label, head) for label in flow.predecessors[head] if label not in blocks}
                found.append(Taken(blocks, frozenset(entries), frozenset(exits[head]), parts, self.places, around))
        return found

    def _needed(self, blocks: frozenset[str], exits: set[Edge], live: Mapping[str, Mapping[str, int]]) -> dict[str, int]:
        """What the loop writes and code behind it may read."""
        written = self._written(blocks)
        needed: Bytes = defaultdict(int)
        for _, out in exits:
            for variable, some in live[out].items():
                needed[variable] |= some & written[variable]
        return {variable: some for variable, some in needed.items() if some}

    def _parts(self, blocks: frozenset[str], needed: dict[str, int], same: Bytes, values: set[str]) -> Iterator[tuple[str, Part]]:
        """Of what is needed, what is the same for all threads that leave somewhere, and what could be read behind the loop."""
        chosen, in_memory = self._chosen(blocks, values)
        for variable, some in sorted(needed.items()):
            if variable in in_memory:
                continue
            whole = variable in chosen or self._is_late(variable, blocks, values)
            for part in self.parts.get(variable, ()):
                if part.bytes & (some if whole else same[variable]):
                    yield variable, part

    def _parts_threads(self, blocks: frozenset[str]) -> bool:
        """They leave it in different trips, or an optimiser may make a loop for each kind of thread."""
        flow, branches = self.uniformity.flow, self.uniformity.divergent_branches
        if any(label in branches and not blocks.issuperset(flow.successors[label]) for label in blocks):
            return True
        return not branches.isdisjoint(blocks) and self._has_fixed_choice(blocks)

    def _facing(self, loops: Mapping[str, frozenset[str]]) -> set[str]:
        """Loops on one side of a branch that threads differ about, while there is a loop on the other side, too."""
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
        """Where a way around the loop could lead: none of the values that are made in the loop is used behind it."""
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
        """Threads differ about something that stays as it is through all trips: an optimiser makes two loops of it."""
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
                if not changing.isdisjoint(i.operands) or any(access.bytes & written[access.variable] for access in reads):
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

    def _written(self, blocks: frozenset[str]) -> Bytes:
        found: Bytes = defaultdict(int)
        for i in self._instructions(blocks):
            for access in self.places.writes(i):
                found[access.variable] |= access.bytes
        return found

    def _live(self) -> dict[str, dict[str, int]]:
        """What may still be read of the variables as they are at the beginning of a block."""
        function, flow = self.uniformity.function, self.uniformity.flow
        live: dict[str, dict[str, int]] = {label: {} for label in function.blocks}
        accesses = {
            label: [both for i in reversed(block.instructions) if any(both := (self.places.writes(i), self.places.reads(i)))]
            for label, block in function.blocks.items()
        }
        waiting = list(function.blocks)
        while waiting:
            label = waiting.pop()
            now: Bytes = defaultdict(int)
            for following in flow.successors[label]:
                for variable, some in live[following].items():
                    now[variable] |= some
            for writes, reads in accesses[label]:
                for access in writes:
                    if access.certain:
                        now[access.variable] &= ~access.bytes
                for access in reads:
                    now[access.variable] |= access.bytes
            if now != live[label]:
                live[label] = now
                waiting += flow.predecessors[label]
        return live

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

    def _varying(self) -> tuple[set[str], dict[str, dict[str, int]]]:
        """(values, bytes at the end of each block) that depend on the thread, by the values alone: not by which way it went."""
        function, flow = self.uniformity.function, self.uniformity.flow
        values: set[str] = set()
        ends: dict[str, dict[str, int]] = {label: {} for label in function.blocks}
        changes = {label: [(i, self.places.writes(i)) for i in block.instructions] for label, block in function.blocks.items()}
        changed = True
        while changed:
            changed = False
            for label in function.blocks:
                now: Bytes = defaultdict(int)
                for before in flow.predecessors[label]:
                    for variable, some in ends[before].items():
                        now[variable] |= some
                for i, writes in changes[label]:
                    differs = i.result in values or self._differs(i, values, now)
                    if differs and i.result is not None and i.result not in values:
                        values.add(i.result)
                        changed = True
                    for access in writes:
                        if differs:
                            now[access.variable] |= access.bytes
                        elif access.certain:
                            now[access.variable] &= ~access.bytes
                changed |= now != ends[label]
                ends[label] = now
        return values, ends

    def _differs(self, i: Instruction, values: set[str], varying: Bytes) -> bool:
        if i.opcode in {"atomicrmw", "cmpxchg"} or is_thread_source(i):
            return True
        # Where in a variable something lies does not count: an element that a thread has chosen may go on in a register.
        if i.opcode == "store":
            return not values.isdisjoint(names_in(store_parts(i)[0]))
        if reads := self.places.reads(i):
            return any(access.bytes & varying[access.variable] for access in reads)
        used = names_in(load_pointer(i)) if i.opcode == "load" else i.operands
        return not values.isdisjoint(used)
