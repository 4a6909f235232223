"""The walk: what threads that have left a kernel must still execute to reach every barrier with the others.

They follow the branches that control barriers, so all threads compute those conditions. These have to be uniform and free of
side effects, and the walk must terminate.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property

from warpsmith.devices.cpu.ir.function import Instruction
from warpsmith.devices.cpu.ir.points_to import load_pointer, store_parts
from warpsmith.devices.cpu.ir.uniformity import Uniformity

_PURE_CALL = re.compile(
    r"^llvm\.(?:spv\.|[su]?min|[su]?max|abs|fma|fabs|floor|ceil|sqrt|expect|ctpop|ctlz|cttz|bswap)|__spirv_ocl_|__spirv_BuiltIn"
)


class NotPredicable(Exception):  # noqa: N818 - an answer, not a failure
    """The walk cannot be separated from the work; the text says where."""


class Walk:
    """`blocks` are those that gone threads come through, `branches` the decisions they take part in.

    `gathering` are branches that threads leave at again and again, as out of a loop: the walk ends there with the last of them.
    """

    def __init__(self, uniformity: Uniformity) -> None:
        self._uniformity = uniformity
        self._flow = uniformity.flow
        self._function = uniformity.function
        self.stays = {label: self._staying_side(label, leaving) for label, leaving in uniformity.leaving.items()}
        for label in uniformity.troubled:
            if label not in self.stays:
                raise NotPredicable(f"both sides of the branch at {label} meet a barrier")
        self._covered = self._flow.reachable(self.stays.values())
        self._home = {
            i.result: label for label, b in self._function.blocks.items() for i in b.instructions if i.result is not None
        }
        self._definition = {i.result: i for b in self._function.blocks.values() for i in b.instructions if i.result is not None}
        self.branches: set[str] = set()
        self._shared: set[int] = set()
        for label in self._covered:
            if len(self._flow.successors[label]) > 1 and uniformity.region(label) & uniformity.barriers:
                self._need_branch(label)
        self.blocks = self._follow(self.stays.values())
        self.gathering: set[str] = set()
        endless = {label for label in self.blocks if all(self.successors(other) for other in self._follow([label]))}
        for label in endless:
            gathering = self._follow([label]) & self.stays.keys()
            if not gathering:
                raise NotPredicable(f"the walk has no end from {label}")
            self.gathering |= gathering

    def is_shared(self, instruction: Instruction) -> bool:
        """Whether threads that have left execute it too."""
        return id(instruction) in self._shared

    def successors(self, label: str) -> tuple[str, ...]:
        """Where threads that have left go after a block; empty: they return."""
        targets = self._flow.successors[label]
        if len(targets) < 2 or label in self.branches:
            return targets
        after = self._uniformity.postdominators[label]
        return () if after is None else (after,)

    def _staying_side(self, label: str, leaving: str) -> str:
        if self._function.blocks[label].terminator.opcode != "br":
            raise NotPredicable(f"{label} ends in a switch")
        return next(target for target in self._function.blocks[label].successors if target != leaving)

    def _follow(self, start: Iterable[str]) -> set[str]:
        seen: set[str] = set()
        pending = list(start)
        while pending:
            label = pending.pop()
            if label not in seen:
                seen.add(label)
                pending += self.successors(label)
        return seen

    def _need_branch(self, label: str) -> None:
        if label in self.branches or label not in self._covered or len(self._flow.successors[label]) < 2:
            return
        if label in self._uniformity.divergent_branches:
            raise NotPredicable(f"the branch at {label} is not uniform")
        self.branches.add(label)
        self._need_block(label)
        for name in self._function.blocks[label].terminator.operands:
            self._need_value(name)

    def _need_block(self, label: str) -> None:
        """All conditions that control the block become part of the walk."""
        for other in self._covered:
            if other != label and len(self._flow.successors[other]) > 1 and label in self._uniformity.region(other):
                self._need_branch(other)

    def _need_value(self, name: str) -> None:
        home = self._home.get(name)
        if home is None or home not in self._covered or self.is_shared(instruction := self._definition[name]):
            return
        if instruction.opcode in {"atomicrmw", "cmpxchg"} or re.search(r"\b(?:volatile|atomic)\b", instruction.body[:20]):
            raise NotPredicable(f"not repeatable: {instruction.text.strip()}")
        if instruction.opcode == "call" and not _PURE_CALL.search(instruction.callee or ""):
            raise NotPredicable(f"not repeatable: {instruction.text.strip()}")
        self._need_instruction(instruction, home)
        if instruction.opcode == "load":
            for target in self._uniformity.points_to.private_targets(load_pointer(instruction)):
                self._need_stores_to(target)
        if instruction.opcode == "phi":
            for other in self._covered:
                decides = {*self._uniformity.region(other), *self._flow.successors[other], self._uniformity.postdominators[other]}
                if home in decides:
                    self._need_branch(other)

    def _need_instruction(self, instruction: Instruction, home: str) -> None:
        if not self.is_shared(instruction):
            self._shared.add(id(instruction))
            self._need_block(home)
            for name in instruction.operands:
                self._need_value(name)

    def _need_stores_to(self, target: str) -> None:
        for label, instruction in self._writers.get(target, ()):
            if instruction.opcode != "store":
                raise NotPredicable(f"not repeatable: {instruction.text.strip()}")
            self._need_instruction(instruction, label)

    @cached_property
    def _writers(self) -> dict[str, list[tuple[str, Instruction]]]:
        """Instructions in relevant blocks that may write a thread's variable."""
        found: dict[str, list[tuple[str, Instruction]]] = {}
        for label in self._covered:
            for instruction in self._function.blocks[label].instructions:
                if instruction.opcode in {"store", "call"}:
                    pointer = store_parts(instruction)[1] if instruction.opcode == "store" else instruction.body
                    for target in self._uniformity.points_to.private_targets(pointer):
                        found.setdefault(target, []).append((label, instruction))
        return found
