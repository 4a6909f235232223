"""Block-uniformity of values and branches, conservatively.

A value is divergent if it depends on the thread (its index, its lane, an atomic's result), or on a divergent branch. Shared
memory gives one value per address: a difference between barriers would be a race in CUDA too. "All threads" are those that may
still reach a barrier.
"""

from __future__ import annotations

import re
from typing import Final

from warpsmith.devices.cpu.ir.flow import Flow
from warpsmith.devices.cpu.ir.function import Block, Function, Instruction
from warpsmith.devices.cpu.ir.module import NAME
from warpsmith.devices.cpu.ir.points_to import PointsTo, load_pointer, names_in, store_parts, transfer_parts

_WORKGROUP: Final = "2"
_WRITING = frozenset({"store", "call"})
_BARRIER = re.compile(r"@\"?\w*__spirv_ControlBarrier\w*\"?\((?:\w+ )+?(?P<scope>[%\w.]+),")
_GROUP_VOTE = re.compile(r"@\w*__spirv_Group(?:All|Any|SMin|SMax)\w*\(")
_THREAD_SOURCE = re.compile(
    r"llvm\.spv\.(?:thread|flattened\.thread|subgroup|wave)|BuiltIn(?:LocalInvocation|GlobalInvocation|GlobalLinear|Subgroup)"
    r"|get_(?:local|global)_(?:linear_)?id|[Aa]tomic|[Cc]lock|GroupNonUniform(?!Shuffle|Broadcast)|Subgroup(?!Shuffle)"
    r"|sub_group(?!_shuffle|_broadcast|_barrier)"
)


def is_barrier(instruction: Instruction) -> bool:
    """A barrier of the whole block; a warp's is not."""
    if instruction.opcode != "call":
        return False
    match = _BARRIER.search(instruction.text)
    of_block = match is not None and (match["scope"] == _WORKGROUP or match["scope"].startswith("%"))
    return of_block or _GROUP_VOTE.search(instruction.text) is not None


def is_thread_source(instruction: Instruction) -> bool:
    """Whether the instruction's result depends on which thread executes it."""
    return instruction.opcode == "call" and bool(_THREAD_SOURCE.search(instruction.callee or ""))


class Uniformity:
    """The analysis of one function after inlining.

    `flow` is the control flow of the threads that stay: a branch that divides them and lets one side leave for good (no barrier
    is reached from there) loses that side.
    """

    def __init__(self, function: Function, defined_functions: frozenset[str], *, let_leave: bool = True) -> None:
        self.function = function
        self.points_to = PointsTo(function, frozenset(re.findall(rf"%{NAME}", function.header)))
        self.barriers = {label for label, block in function.blocks.items() if any(map(is_barrier, block.instructions))}
        self.leaving: dict[str, str] = {}
        self._let_leave = let_leave
        self._defined = defined_functions
        self._meets_barrier = Flow(function).leading_to(self.barriers) if let_leave else set[str]()
        while not self._analyse(Flow(function, frozenset(self.leaving.items()))):
            pass

    @property
    def troubled(self) -> list[str]:
        """Branches that divide the threads before a barrier."""
        inner = [label for label in self.divergent_branches if self.region(label) & self.barriers]
        return [label for label in self.function.blocks if label in self.leaving or label in inner]

    def is_uniform(self, label: str) -> bool:
        """Whether all remaining threads pass the block together."""
        return label not in self._divergent_blocks

    def is_divergent(self, text: str) -> bool:
        """Whether an operand may differ between threads."""
        return self._uses(text) or bool(_THREAD_SOURCE.search(text))

    def region(self, label: str) -> set[str]:
        """The blocks controlled by the branch at the end of `label`."""
        if label not in self._regions:
            self._regions[label] = self.flow.reachable(self.flow.successors[label], self.postdominators.get(label))
        return self._regions[label]

    def _leaves_at(self, label: str) -> dict[str, str] | None:
        """The branch, and its side, where some of the threads that this branch divides leave: itself, or the nearest after it.

        The nearest, for `if (thread > 100 && uniform) return;` divides at the first condition and leaves at the second.
        """
        region = self.region(label)
        nearby = [label]
        for near in nearby:
            side = self._leaving_side(near)
            if side is not None:
                return {near: side}
            if region & self.barriers:
                nearby += [target for target in self.flow.successors[near] if target in region and target not in nearby]
        return None

    def _leaving_side(self, label: str) -> str | None:
        targets = self.flow.successors[label]
        out = [target for target in targets if target not in self._meets_barrier]
        return out[0] if len(targets) == 2 and len(out) == 1 else None

    def _analyse(self, flow: Flow) -> bool:
        """False as soon as a side was found to leave: what comes after it looks different then."""
        self.flow = flow
        self.postdominators = flow.immediate_postdominators()
        self._regions: dict[str, set[str]] = {}
        self.divergent_values: set[str] = set()
        self.divergent_objects: set[str] = set()
        self.divergent_branches: set[str] = set()
        self._divergent_blocks: set[str] = set()
        changed = True
        while changed:
            changed = False
            for block in self.function.blocks.values():
                changed |= self._visit(block)
                if not self._is_newly_divergent(block):
                    continue
                if self._let_leave and (leaving := self._leaves_at(block.label)) is not None:
                    self.leaving |= leaving
                    return False
                self.divergent_branches.add(block.label)
                self._divergent_blocks |= self.region(block.label)
                changed = True
        return True

    def _is_newly_divergent(self, block: Block) -> bool:
        decides = block.label not in self.divergent_branches and len(self.flow.successors[block.label]) > 1
        return decides and self._uses(block.terminator.text)

    def _visit(self, block: Block) -> bool:
        changed = False
        under_divergence = block.label in self._divergent_blocks
        for instruction in block.instructions:
            name = instruction.result
            if name is not None and name not in self.divergent_values and self._is_divergent(instruction, block.label):
                self.divergent_values.add(name)
                changed = True
            if instruction.opcode in _WRITING:
                changed |= self._visit_writes(instruction, under_divergence=under_divergence)
        return changed

    def _visit_writes(self, instruction: Instruction, *, under_divergence: bool) -> bool:
        if instruction.opcode == "store":
            value, pointer = store_parts(instruction)
            differs = under_divergence or self._uses(value) or self._uses(pointer)
        elif (transfer := transfer_parts(instruction)) is not None:
            pointer = transfer[0]
            differs = under_divergence or self._uses(instruction.text) or self._holds_divergent(transfer[1])
        elif instruction.opcode == "call" and names_in(instruction.body):
            pointer = instruction.body
            differs = under_divergence or self._uses(pointer) or self._is_source(instruction) or self._holds_divergent(pointer)
        else:
            return False
        if not differs:
            return False
        new = self.points_to.private_targets(pointer) - self.divergent_objects
        self.divergent_objects |= new
        return bool(new)

    def _is_divergent(self, instruction: Instruction, label: str) -> bool:
        body = instruction.body
        match instruction.opcode:
            case "alloca":
                return False
            case "atomicrmw" | "cmpxchg":
                return True
            case "load":
                body = load_pointer(instruction)
                own = bool(_THREAD_SOURCE.search(body)) or self._holds_divergent(body)
            case "call":
                if _GROUP_VOTE.search(instruction.text):
                    return False
                own = self._is_source(instruction) or self._holds_divergent(body)
            case "phi":
                own = any(p in self._divergent_blocks or p in self.divergent_branches for p in self.flow.predecessors[label])
            case _:
                own = False
        return own or self._uses(body)

    def _uses(self, text: str) -> bool:
        return any(name in self.divergent_values for name in names_in(text))

    def _holds_divergent(self, pointer: str) -> bool:
        return bool(self.points_to.private_targets(pointer) & self.divergent_objects)

    def _is_source(self, instruction: Instruction) -> bool:
        callee = instruction.callee
        return callee is None or callee in self._defined or bool(_THREAD_SOURCE.search(callee))
