"""Makes barriers safe for a runtime that assumes every thread of a block reaches every barrier.

CUDA lets a thread return before a barrier that the others still reach; the runtime would compute wrong numbers. After inlining
(`ir.module`) every barrier is in the entry, and there are three cases:

* all branches that control a barrier are uniform: nothing to do;
* threads leave for good (`if (i >= n) return;`, or out of the last loop): they still execute the barriers, and nothing else
  (`ir.predication`);
* anything else: a run-time vote at the branch checks that the threads agree, and the launch fails if they do not.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from warpsmith.devices.cpu import clang
from warpsmith.devices.cpu.entry import TRAP
from warpsmith.devices.cpu.ir.function import Block, Function, Instruction
from warpsmith.devices.cpu.ir.hazards import separate_reads_from_overwrites
from warpsmith.devices.cpu.ir.labels import with_plain_labels
from warpsmith.devices.cpu.ir.module import Module, SourceLine
from warpsmith.devices.cpu.ir.predication import ANY, predicated
from warpsmith.devices.cpu.ir.uniformity import Uniformity, is_barrier
from warpsmith.devices.cpu.ir.walk import NotPredicable
from warpsmith.devices.cpu.ir.warp_exchange import keep_exchanges_in_step
from warpsmith.devices.cpu.ir.warp_synchronous import declare_barrier

TRAP_DISAGREEMENT = 3
_ALL = "_Z16__spirv_GroupAllib"
_SMALLEST, _LARGEST = "_Z17__spirv_GroupSMiniil", "_Z17__spirv_GroupSMaxiil"
_VOTES = (f"i1 @{_ALL}(i32, i1)", f"i1 @{ANY}(i32, i1)", f"i64 @{_SMALLEST}(i32, i32, i64)", f"i64 @{_LARGEST}(i32, i32, i64)")


class HiddenBarrier(Exception):  # noqa: N818 - the fact, not a failure
    """A barrier that stays in a separate function, because that is recursive or called through a pointer."""

    def __init__(self, function: str) -> None:
        super().__init__(function)
        self.function = function


def with_safe_barriers(
    module: Module, kernels: list[str], locate: Callable[[Module, str], SourceLine | None], *, in_step: bool = True
) -> Module:
    """The module itself, or an inlined and rewritten one in which all threads reach every barrier of the first kernel."""
    if not module.shared_objects and not any(_mentions_barrier(lines) for lines in module.functions.values()):
        return module
    flat = flattened(module, kernels)
    entry = kernels[0]
    others = frozenset(flat.functions) - {entry}
    for name in others:
        if _mentions_barrier(flat.functions[name]):
            raise HiddenBarrier(name)
    function = Function.parse(flat.functions[entry])
    function.hoist_casts_of_allocas()
    uniformity = Uniformity(function, others)
    kept_in_step = in_step and keep_exchanges_in_step(uniformity, flat.shared_objects)
    if kept_in_step:
        declare_barrier(flat)
    if separate_reads_from_overwrites(uniformity, flat.shared_objects) or kept_in_step:
        flat.replace(entry, function.lines)
        module = flat
        uniformity = Uniformity(function, others)
    if not uniformity.troubled:
        return module
    try:
        lines = predicated(uniformity).lines
    except NotPredicable:
        troubled = Uniformity(function, others, let_leave=False).troubled
        lines = _with_votes(function, troubled, lambda text: locate(flat, text))
    _declare_votes(flat)
    flat.replace(entry, lines)
    return flat


def flattened(module: Module, kernels: list[str]) -> Module:
    """A copy whose kernels have inlined all callees."""
    flat = Module(module.text)
    flat.inline_everything(kernels)
    result = clang.inlined(flat.text)
    assert result.succeeded, result.log
    flat = Module(with_plain_labels(result.output.decode()))
    flat.keep_reachable(kernels)
    return flat


def _mentions_barrier(lines: list[str]) -> bool:
    return any("__spirv_ControlBarrier" in line and is_barrier(Instruction.parse(line)) for line in lines)


def _with_votes(function: Function, troubled: list[str], locate: Callable[[str], SourceLine | None]) -> list[str]:
    blocks: dict[str, Block] = {}
    for label, block in function.blocks.items():
        blocks[label] = block
        if label not in troubled:
            continue
        terminator = block.terminator
        place = locate(terminator.text)
        rest, failed = f"{label}.agreed", f"{label}.disagreed"
        blocks[label] = Block(label, [*block.instructions[:-1], *_vote(label, terminator, rest, failed)])
        record = [
            f"  store i32 {TRAP_DISAGREEMENT}, ptr addrspace(1) @{TRAP}, align 4",
            f"  store i32 {place.line if place else 0}, ptr addrspace(1) getelementptr (i8, ptr addrspace(1) @{TRAP}, i64 4)",
            "  ret void",
        ]
        blocks[failed] = Block(failed, [Instruction.parse(line) for line in record])
        blocks[rest] = Block(rest, [terminator])
    moved = {label: f"{label}.agreed" for label in troubled}
    return Function(function.header, {label: with_moved_predecessors(block, moved) for label, block in blocks.items()}).lines


def _vote(label: str, terminator: Instruction, rest: str, failed: str) -> list[Instruction]:
    """Two collective operations on the branch's operands; if the results differ, the threads disagree."""
    value, prefix = terminator.operands[0], f"%{label}.vote"
    if terminator.opcode == "switch":
        bits = re.search(r"switch i(\d+)", terminator.text)
        assert bits is not None, terminator.text
        widen = "add i64 0," if bits[1] == "64" else f"sext i{bits[1]}"
        lines = [
            f"{prefix}.wide = {widen} {value}" + ("" if bits[1] == "64" else " to i64"),
            f"{prefix}.low = call spir_func i64 @{_SMALLEST}(i32 2, i32 0, i64 {prefix}.wide)",
            f"{prefix}.high = call spir_func i64 @{_LARGEST}(i32 2, i32 0, i64 {prefix}.wide)",
            f"{prefix}.mixed = icmp ne i64 {prefix}.low, {prefix}.high",
        ]
    else:
        lines = [
            f"{prefix}.all = call spir_func i1 @{_ALL}(i32 2, i1 {value})",
            f"{prefix}.any = call spir_func i1 @{ANY}(i32 2, i1 {value})",
            f"{prefix}.mixed = xor i1 {prefix}.all, {prefix}.any",
        ]
    return [Instruction.parse(f"  {line}") for line in (*lines, f"br i1 {prefix}.mixed, label %{failed}, label %{rest}")]


def with_moved_predecessors(block: Block, moved: dict[str, str]) -> Block:
    """Phi operands with the old predecessor replaced by the new one."""

    def renamed(instruction: Instruction) -> Instruction:
        if instruction.opcode != "phi":
            return instruction
        text = instruction.text
        for old, new in moved.items():
            text = text.replace(f", %{old} ]", f", %{new} ]")
        return Instruction.parse(text)

    return Block(block.label, [renamed(instruction) for instruction in block.instructions])


def _declare_votes(module: Module) -> None:
    module.pieces += [(None, [f"declare spir_func {signature} convergent"]) for signature in _VOTES]
