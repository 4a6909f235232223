"""Which values and branches are the same for all threads of a block, conservatively.

A value is divergent if it depends on the thread (its index, its lane, an atomic's answer), or on a branch that does. Memory that
threads share gives one value for one address: what differs between barriers would be a race in CUDA too. "All threads" are those
that may still reach a barrier.
"""

from __future__ import annotations

import re
from typing import Final

from warpsmith.devices.cpu.ir.flow import Flow
from warpsmith.devices.cpu.ir.function import Block, Function, Instruction
from warpsmith.devices.cpu.ir.module import NAME
from warpsmith.devices.cpu.ir.points_to import PointsTo, load_pointer, names_in, store_parts, transfer_parts

_WORKGROUP: Final = "2"
_BARRIER = re.compile(r"@\"?\w*__spirv_ControlBarrier\w*\"?\((?:\w+ )+?(?P<scope>[%\w.]+),")
_GROUP_VOTE = re.compile(r"@\w*__spirv_Group(?:All|Any)\w*\(")
_THREAD_SOURCE = re.compile(
    r"llvm\.spv\.(?:thread|flattened\.thread|subgroup|wave)|BuiltIn(?:LocalInvocation|GlobalInvocation|GlobalLinear|Subgroup)"
    r"|[Aa]tomic|[Cc]lock|GroupNonUniform(?!Shuffle|Broadcast)|Subgroup(?!Shuffle)|sub_group(?!_shuffle|_broadcast|_barrier)"
)


def is_barrier(instruction: Instruction) -> bool:
    """A barrier of the whole block; one of a warp is not."""
    if instruction.opcode != "call":
        return False
    match = _BARRIER.search(instruction.text)
    return (match is not None and match["scope"] in {_WORKGROUP, *_unknown(match["scope"])}) or bool(_GROUP_VOTE.search(instruction.text))


def _unknown(scope: str) -> tuple[str, ...]:
    return (scope,) if scope.startswith("%") else ()


class Uniformity:
    """The analysis of one function after inlining.

    `flow` is the control flow of the threads that stay: a branch that divides them and lets one side leave for good (no barrier is
    reached from there) loses that side.
    """

    def __init__(self, function: Function, defined_functions: frozenset[str], *, let_leave: bool = True) -> None:
        self.function = function
        self.points_to = PointsTo(function, frozenset(re.findall(rf"%{NAME}", function.header)))
        self.barriers = {label for label, block in function.blocks.items() if any(map(is_barrier, block.instructions))}
        self.leaving: dict[str, str] = {}
        self._let_leave = let_leave
        self._defined = defined_functions
        whole = Flow(function)
        self._meets_barrier = {label: bool(whole.reachable([label]) & self.barriers) for label in function.blocks}
        while not self._analyse(Flow(function, frozenset(self.leaving.items()))):
            pass

    @property
    def troubled(self) -> list[str]:
        """Branches that divide the threads before a barrier."""
        inner = [label for label in self.divergent_branches if self.region(label) & self.barriers]
        return [label for label in self.function.blocks if label in self.leaving or label in inner]

    def region(self, label: str) -> set[str]:
        """The blocks that the branch at the end of `label` decides about."""
        return self.flow.reachable(self.flow.successors[label], self.postdominators.get(label))

    def _leaving_side(self, label: str) -> str | None:
        targets = self.flow.successors[label]
        out = [target for target in targets if not self._meets_barrier[target]]
        return out[0] if len(targets) == 2 and len(out) == 1 else None

    def _analyse(self, flow: Flow) -> bool:
        """False as soon as a side was found to leave: what comes after it looks different then."""
        self.flow = flow
        self.postdominators = flow.immediate_postdominators()
        self.divergent_values: set[str] = set()
        self.divergent_objects: set[str] = set()
        self.divergent_branches: set[str] = set()
        self._divergent_blocks: set[str] = set()
        changed = True
        while changed:
            changed = False
            for block in self.function.blocks.values():
                changed |= self._visit(block)
                if self._is_newly_divergent(block):
                    side = self._leaving_side(block.label) if self._let_leave else None
                    if side is not None:
                        self.leaving[block.label] = side
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
            if instruction.result is not None and instruction.result not in self.divergent_values:
                if self._is_divergent(instruction, block.label):
                    self.divergent_values.add(instruction.result)
                    changed = True
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
        match instruction.opcode:
            case "alloca":
                return False
            case "atomicrmw" | "cmpxchg":
                return True
            case "load":
                pointer = load_pointer(instruction)
                return self._uses(pointer) or bool(_THREAD_SOURCE.search(pointer)) or self._holds_divergent(pointer)
            case "call":
                if _GROUP_VOTE.search(instruction.text):
                    return False
                return self._uses(instruction.body) or self._is_source(instruction) or self._holds_divergent(instruction.body)
            case "phi":
                joins = self.flow.predecessors[label]
                return self._uses(instruction.body) or any(p in self._divergent_blocks or p in self.divergent_branches for p in joins)
            case _:
                return self._uses(instruction.body)

    def _uses(self, text: str) -> bool:
        return any(name in self.divergent_values for name in names_in(text))

    def _holds_divergent(self, pointer: str) -> bool:
        return bool(self.points_to.private_targets(pointer) & self.divergent_objects)

    def _is_source(self, instruction: Instruction) -> bool:
        callee = instruction.callee
        return callee is None or callee in self._defined or bool(_THREAD_SOURCE.search(callee))
