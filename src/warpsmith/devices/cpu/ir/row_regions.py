"""Finds code that usually all threads of a row execute, but not always: candidates for a copy without masks.

A block-stride loop, in which some threads make one trip less:    for (i = threadIdx.x; i < n; i += blockDim.x) …
A guard that only the last row of threads does not pass as a whole:   if (blockIdx.x * blockDim.x + threadIdx.x < n) …

This only decides about gain, not correctness; except that regions have one entry, no barriers, and no values used outside.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from warpsmith.devices.cpu.ir.accesses import accesses
from warpsmith.devices.cpu.ir.bounds import Bounds
from warpsmith.devices.cpu.ir.function import Instruction
from warpsmith.devices.cpu.ir.module import NAME
from warpsmith.devices.cpu.ir.uniformity import Uniformity

_COMPARISON = re.compile(r"icmp (?:samesign )?(\w+) (i(?:8|16|32|64)) (\S+), ([^\s,]+)")
_BRANCH = re.compile(rf"br i1 (%{NAME}), label %({NAME}), label %({NAME})")
_INVERSE = {"slt": "sge", "sle": "sgt", "sgt": "sle", "sge": "slt", "ult": "uge", "ule": "ugt", "ugt": "ule", "uge": "ult"}


@dataclass(frozen=True, slots=True)
class Comparison:
    """The condition of the threads that continue, as an instruction and in parts."""

    instruction: Instruction
    predicate: str
    kind: str
    left: str
    right: str


@dataclass(frozen=True, slots=True)
class Region:
    """`blocks` are what a copy must contain: for a loop, also the one with the branch."""

    branch: str
    work: str
    blocks: frozenset[str]
    comparison: Comparison

    @property
    def is_loop(self) -> bool:
        return self.branch in self.blocks


class Regions:
    """`set_aside` are remainder blocks of earlier copies."""

    def __init__(self, uniformity: Uniformity, bounds: Bounds, set_aside: set[str]) -> None:
        self._uniformity = uniformity
        self._function = uniformity.function
        self._flow = uniformity.flow
        self._bounds = bounds
        self._set_aside = set_aside

    def outermost(self, most_instructions: int) -> list[Region]:
        """Regions that do not overlap and have no more instructions in total."""
        loops = self._flow.loops()
        candidates = (self._uniformity.divergent_branches & self._uniformity.postdominators.keys()) - self._set_aside  # reachable
        chosen: list[Region] = []
        for branch in self._function.blocks:
            if branch not in candidates or any(branch in region.blocks for region in chosen):
                continue
            blocks = loops.get(branch)
            region = (self._region(branch, blocks) if blocks is not None else None) or self._guard(branch)
            if region is None or any(region.blocks & other.blocks for other in chosen):
                continue
            size = sum(len(self._function.blocks[label].instructions) for label in region.blocks)
            if size <= most_instructions:
                most_instructions -= size
                chosen.append(region)
        return chosen

    def _guard(self, branch: str) -> Region | None:
        """The one side of a branch that uses memory, up to the join."""
        end = self._uniformity.postdominators[branch]
        sides = [frozenset(self._flow.reachable([side], end)) for side in self._flow.successors[branch]]
        working = [side for side in sides if self._uses_memory(side)]
        if len(sides) != 2 or len(working) != 1 or sides[0] & sides[1] or branch in working[0]:
            return None
        region = self._region(branch, working[0])
        if region is None or not self._bounds.depends_on_block(region.comparison.instruction.operands):
            return None  # `threadIdx.x < 16` and the like: there is no row where all go on
        return None if self._is_trimmed(region) else region

    def _region(self, branch: str, blocks: frozenset[str]) -> Region | None:
        """The region, if threads of a row diverge at the branch and nothing else prevents an unmasked copy."""
        targets = [target for target in self._flow.successors[branch] if target in blocks and target != branch]
        if len(targets) != 1 or blocks & self._uniformity.barriers or not self._uses_memory(blocks):
            return None
        comparison = self._comparison(branch, targets[0])
        if comparison is None or not self._is_closed(branch, targets[0], blocks):
            return None
        divergent = self._uniformity.divergent_branches - {branch}
        outer, inner = self._masked(divergent - blocks), self._masked(divergent & blocks)
        exits = {label for label in blocks if any(target not in blocks for target in self._flow.successors[label])}
        leaves_apart = branch in blocks and (exits - {branch}) & (inner | divergent)
        if branch in outer or leaves_apart:
            return None
        origin = self._bounds.behind(comparison.instruction.operands)
        if origin is None or not origin.differs_in_row:
            return None
        homes = {self._bounds.homes[id(store)] for store in origin.stores} - self._set_aside
        if any(home in (inner if home in blocks else outer) for home in homes):
            return None
        return Region(branch, targets[0], blocks, comparison)

    def _comparison(self, branch: str, work: str) -> Comparison | None:
        block = self._function.blocks[branch]
        parts = _BRANCH.match(block.terminator.text.strip())
        found = next((i for i in block.instructions if parts is not None and i.result == parts[1]), None)
        match = _COMPARISON.match(found.body) if found is not None else None
        if parts is None or found is None or match is None or match[1] not in _INVERSE:
            return None
        return Comparison(found, match[1] if work == parts[2] else _INVERSE[match[1]], match[2], match[3], match[4])

    def _is_closed(self, branch: str, work: str, blocks: frozenset[str]) -> bool:
        """Whether the branch is the only entry, and values of the region are used outside only in phis."""
        inside = blocks - {branch}
        if any(p not in blocks and (p != branch or label != work) for label in inside for p in self._flow.predecessors[label]):
            return False
        own = {i.result for label in blocks for i in self._function.blocks[label].instructions}
        if branch in blocks:  # the copy of a loop's head may be left for the body of the loop itself
            if any(i.opcode == "phi" for i in self._function.blocks[branch].instructions):
                return False
            of_head = {i.result for i in self._function.blocks[branch].instructions}
            if any(not of_head.isdisjoint(i.operands) for i in self._plain_instructions(inside)):
                return False
        outside = self._function.blocks.keys() - blocks
        return all(own.isdisjoint(i.operands) for i in self._plain_instructions(outside))

    def _plain_instructions(self, labels: Collection[str]) -> Iterator[Instruction]:
        return (i for label in labels for i in self._function.blocks[label].instructions if i.opcode != "phi")

    def _masked(self, branches: set[str]) -> set[str]:
        """Blocks that not all threads reach."""
        return set[str]().union(*(self._uniformity.region(branch) for branch in branches))

    def _uses_memory(self, blocks: Collection[str]) -> bool:
        """Whether it accesses more than the thread's own variables."""
        points_to = self._uniformity.points_to
        instructions = (i for label in blocks for i in self._function.blocks[label].instructions)
        return any(not points_to.targets(access.pointer) <= points_to.allocas for i in instructions for access in accesses(i))

    def _is_trimmed(self, region: Region) -> bool:
        """Whether the runtime itself launches the kernel for the threads that pass the guard, and needs no masks.

        It does so for signed comparisons of sums around all that a kernel does.
        """
        comparison = region.comparison
        origin = self._bounds.behind(comparison.instruction.operands)
        if origin is None or not origin.is_sum or not comparison.predicate.startswith("s"):
            return False
        before = self._flow.reachable([self._flow.entry], region.branch)
        if self._uses_memory(before) or any(len(self._flow.successors[label]) > 1 for label in before):
            return False
        after = self._flow.reachable(self._flow.successors[region.branch]) - region.blocks
        return not self._uses_memory(after)
