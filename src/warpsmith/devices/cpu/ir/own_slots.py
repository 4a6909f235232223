"""Whether a read of shared memory gives a thread its own value back, so that it need not wait for the others of its warp.

That is so where the read's address is, as text (`addresses`), the one that the thread has written to, and

* still means the same place: no variable in it has changed since, on any path; and
* is the thread's alone: `s[threadIdx.x]` is; `s[0]`, `s[threadIdx.x / 32]` and `s[threadIdx.y]` are shared by a warp, and what
  one lane writes there the others are meant to read.
"""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from functools import cached_property

from warpsmith.devices.cpu.ir.accesses import Access, accesses
from warpsmith.devices.cpu.ir.addresses import Addresses
from warpsmith.devices.cpu.ir.affine import Distance, Place, distance
from warpsmith.devices.cpu.ir.function import Instruction
from warpsmith.devices.cpu.ir.points_to import names_in
from warpsmith.devices.cpu.ir.uniformity import Uniformity, is_thread_source

_QUOTIENTS = frozenset({"udiv", "sdiv", "lshr", "ashr"})
_REMAINDERS = frozenset({"urem", "srem", "and"})
_FIRST_DIMENSION = re.compile(r"\(i32 (?:noundef )?0\)|[Ss]ubgroup|sub_group|linear|Linear|flattened")
_VARIABLE = re.compile(r"\[(%[^\]\s]+)\]")
_PARTS = re.compile(r'\(\w*|\)|%(?:[-\w$.]+|"[^"]*")')


class OwnSlots:
    def __init__(self, uniformity: Uniformity, shared: frozenset[str]) -> None:
        self._uniformity = uniformity
        self._shared = shared
        self._addresses = Addresses(uniformity.function, uniformity.points_to)
        self._threads: dict[str, bool] = {}  # values that differ by thread, and whether along x, which the lanes of a warp follow
        for block in uniformity.function.blocks.values():
            for instruction in block.instructions:
                if instruction.result is not None and is_thread_source(instruction):
                    self._threads[instruction.result] = bool(_FIRST_DIMENSION.search(instruction.body))

    def distance(self, write: Access, read: Access, changed: AbstractSet[str]) -> Distance | None:
        """Distance between the writing and the reading lane; None if unknown. `changed` are names that changed in between."""
        written, seen = self._addresses.of(write.pointer), self._addresses.of(read.pointer)
        along_x = {name for name, is_first in self._threads.items() if is_first}
        others = {name for name in {*names_in(written), *names_in(seen)} if name not in self._threads}
        if write.width is None or read.width is None or others & changed or any(self._differs(name) for name in others):
            return None
        return distance(Place(written, write.width), Place(seen, read.width), along_x)

    def _differs(self, name: str) -> bool:
        """Whether a name's value, or the variable of that name, may differ between lanes of a warp."""
        return name in self._uniformity.divergent_values or name in self._uniformity.divergent_objects

    def changing_names(self, access: Access) -> set[str]:
        return self._changing(self._addresses.of(access.pointer))

    def changed_by(self, instruction: Instruction, names: AbstractSet[str]) -> set[str]:
        """Those of the names whose meaning the instruction changes."""
        if not names:
            return set()
        objects = self._written_objects(instruction)
        points_to = self._uniformity.points_to
        return {name for name in names if name == instruction.result or points_to.private_targets(name) & objects}

    def reads_back(self, place: tuple[str, int], read: Access, write: Access, written_in: str) -> bool:
        """Whether the read at `place` can only return what the same thread wrote by `write`, in block `written_in`."""
        text = self._addresses.of(write.pointer)
        if self._addresses.of(read.pointer) != text:
            return False
        if not self._is_alone(write, text) and not self._is_same_for_all(write, written_in):
            return False
        return not self._changing(text) or (*place, text) in self._backed

    def _is_alone(self, write: Access, text: str) -> bool:
        """Whether the lanes of a warp have different places at this address, as far as its text tells."""
        ways: set[str] = set()
        enclosing: list[str] = []
        for part in _PARTS.findall(text):
            if part.startswith("("):
                enclosing.append(part[1:])
            elif part == ")":
                enclosing[-1:] = []
            elif part in self._threads:
                ways.add(_way(enclosing) if self._threads[part] else "other row")
        if not ways:
            return bool(self._changing(text)) and self._uniformity.is_divergent(write.pointer)
        return "itself" in ways or {"quotient", "remainder"} <= ways

    def _is_same_for_all(self, write: Access, written_in: str) -> bool:
        """Whether every lane writes the same value to the same place."""
        uniformity = self._uniformity
        return (
            write.value is not None
            and uniformity.is_uniform(written_in)
            and not uniformity.is_divergent(write.pointer)
            and not uniformity.is_divergent(write.value)
        )

    def _changing(self, text: str) -> set[str]:
        """Names in an address whose values may change later."""
        variables = set(_VARIABLE.findall(text))
        names = {name for name in names_in(text) if name.startswith("%")}
        constant = self._threads.keys() | self._uniformity.points_to.allocas
        return variables | {name for name in names if name not in constant and name in self._defined}

    @cached_property
    def _defined(self) -> frozenset[str]:
        return frozenset(i.result for b in self._uniformity.function.blocks.values() for i in b.instructions if i.result)

    @cached_property
    def _backed(self) -> set[tuple[str, int, str]]:
        """Reads (block, index, address) that on every path follow a write to the same, unchanged address."""
        flow = self._uniformity.flow
        blocks = self._uniformity.function.blocks
        everything = frozenset(self._written_addresses())
        leaving = dict.fromkeys(blocks, everything)
        found: set[tuple[str, int, str]] = set()
        changed = True
        while changed:
            changed = False
            found.clear()
            for label, block in blocks.items():
                before = [leaving[p] for p in flow.predecessors[label]]
                known = set(everything.intersection(*before)) if before and label != flow.entry else set()
                for index, instruction in enumerate(block.instructions):
                    self._step(instruction, known, (label, index), found)
                if known != leaving[label]:
                    leaving[label] = frozenset(known)
                    changed = True
        return found

    def _step(self, instruction: Instruction, known: set[str], place: tuple[str, int], found: set[tuple[str, int, str]]) -> None:
        for access in accesses(instruction):
            if self._is_shared(access.pointer):
                text = self._addresses.of(access.pointer)
                if access.is_write:
                    known.add(text)
                elif text in known:
                    found.add((*place, text))
        known -= {text for text in known if self.changed_by(instruction, self._changing(text))}

    def _written_objects(self, instruction: Instruction) -> set[str]:
        """The thread's own variables that the instruction may write."""
        if instruction.opcode not in {"store", "call", "atomicrmw", "cmpxchg"}:
            return set()
        written = [access.pointer for access in accesses(instruction) if access.is_write]
        if instruction.opcode == "call" and not written:
            written = [instruction.body]
        return {target for pointer in written for target in self._uniformity.points_to.private_targets(pointer)}

    def _written_addresses(self) -> set[str]:
        return {
            self._addresses.of(access.pointer)
            for block in self._uniformity.function.blocks.values()
            for instruction in block.instructions
            for access in accesses(instruction)
            if access.is_write and self._is_shared(access.pointer)
        }

    def _is_shared(self, pointer: str) -> bool:
        return bool(self._uniformity.points_to.targets(pointer) & self._shared)


def _way(enclosing: list[str]) -> str:
    """How the thread's index enters an address: directly, or through the innermost operation that maps several threads to one."""
    for operation in reversed(enclosing):
        if operation in _QUOTIENTS:
            return "quotient"
        if operation in _REMAINDERS:
            return "remainder"
    return "itself"
