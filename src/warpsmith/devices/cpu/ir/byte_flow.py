"""Liveness and thread dependence of each byte of a thread's variables, per block of a function.

A set of bytes is one integer, with the bytes of all variables side by side: inlined code has hundreds of variables in hundreds
of blocks, and queries about all of them take a few integer operations.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from warpsmith.devices.cpu.ir.flow import Flow
from warpsmith.devices.cpu.ir.function import Function, Instruction
from warpsmith.devices.cpu.ir.parts import Part
from warpsmith.devices.cpu.ir.places import Access, Places
from warpsmith.devices.cpu.ir.points_to import load_pointer, names_in, store_parts
from warpsmith.devices.cpu.ir.uniformity import is_thread_source


@dataclass(frozen=True, slots=True)
class _Step:
    instruction: Instruction
    reads: int | None  # None: it reads no variable
    writes: Sequence[tuple[int, bool]]  # and whether all of these bytes are written, whenever the instruction runs


class ByteFlow:
    def __init__(self, function: Function, flow: Flow, places: Places, parts: Mapping[str, list[Part]]) -> None:
        self._function = function
        self._flow = flow
        self._places = places
        instructions = [i for block in function.blocks.values() for i in block.instructions]
        self._offsets, self._widths = _laid_out((a for i in instructions for a in (*places.reads(i), *places.writes(i))), parts)

    @cached_property
    def _steps(self) -> dict[str, list[_Step]]:
        return {label: [self._step(i) for i in block.instructions] for label, block in self._function.blocks.items()}

    def of(self, access: Access) -> int:
        # An access to an unknown place has infinitely many bits.
        return (access.bytes & (1 << self._widths[access.variable]) - 1) << self._offsets[access.variable]

    def written(self, instructions: Iterable[Instruction]) -> int:
        return _union(self.of(access) for i in instructions for access in self._places.writes(i))

    def by_variable(self, some: int) -> dict[str, int]:
        """The bytes in a set, as bits of each variable that has any."""
        every = {name: some >> offset & (1 << self._widths[name]) - 1 for name, offset in self._offsets.items()}
        return {name: found for name, found in every.items() if found}

    def live(self) -> dict[str, int]:
        """Bytes that may still be read after the beginning of a block."""
        read_first, overwritten = dict.fromkeys(self._steps, 0), dict.fromkeys(self._steps, 0)
        for label, steps in self._steps.items():
            for step in reversed(steps):
                certain = _union(some for some, is_certain in step.writes if is_certain)
                overwritten[label] |= certain
                read_first[label] = read_first[label] & ~certain | (step.reads or 0)
        live = dict.fromkeys(self._steps, 0)
        changed = True
        while changed:
            changed = False
            for label in reversed(self._steps):  # from the end, where the way back is short
                behind = _union(live[following] for following in self._flow.successors[label])
                now = behind & ~overwritten[label] | read_first[label]
                changed |= now != live[label]
                live[label] = now
        return live

    def varying(self) -> tuple[set[str], dict[str, int]]:
        """(values, bytes at the end of each block) that depend on the thread through data, not through control flow."""
        values: set[str] = set()
        ends = dict.fromkeys(self._steps, 0)
        changed = True
        while changed:
            changed = False
            for label, steps in self._steps.items():
                now = _union(ends[before] for before in self._flow.predecessors[label])
                for step in steps:
                    result = step.instruction.result
                    differs = result in values or _differs(step, values, now)
                    if differs and result is not None and result not in values:
                        values.add(result)
                        changed = True
                    for some, certain in step.writes:
                        if differs:
                            now |= some
                        elif certain:
                            now &= ~some
                changed |= now != ends[label]
                ends[label] = now
        return values, ends

    def _step(self, i: Instruction) -> _Step:
        reads = self._places.reads(i)
        writes = [(self.of(access), access.certain) for access in self._places.writes(i)]
        return _Step(i, _union(map(self.of, reads)) if reads else None, writes)


def _laid_out(accesses: Iterable[Access], parts: Mapping[str, list[Part]]) -> tuple[dict[str, int], dict[str, int]]:
    """(offset, width) of each variable: wide enough for everything known to be in it."""
    widths: dict[str, int] = {}
    for access in accesses:
        widths[access.variable] = max(widths.get(access.variable, 0), access.bytes.bit_length())
    offsets: dict[str, int] = {}
    end = 0
    for name, width in widths.items():
        widths[name] = max([width, *(part.bytes.bit_length() for part in parts.get(name, ()))])
        offsets[name] = end
        end += widths[name]
    return offsets, widths


def _differs(step: _Step, values: set[str], varying: int) -> bool:
    i = step.instruction
    if i.opcode in {"atomicrmw", "cmpxchg"} or is_thread_source(i):
        return True
    # The offset in a variable is ignored: an element chosen per thread may be kept in a register.
    if i.opcode == "store":
        return not values.isdisjoint(names_in(store_parts(i)[0]))
    if step.reads is not None:
        return bool(step.reads & varying)
    used = names_in(load_pointer(i)) if i.opcode == "load" else i.operands
    return not values.isdisjoint(used)


def _union(sets: Iterable[int]) -> int:
    found = 0
    for some in sets:
        found |= some
    return found
