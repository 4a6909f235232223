"""Makes threads that left a kernel early continue from barrier to barrier.

A leaving thread sets a flag instead of returning, and then continues along the walk (`walk`): barriers and the conditions that
control them are executed by all threads; the work in between is guarded by the flag.

    head:  br %late, %leave, %work             head:          br %late, %leave.out, %work
    leave: ret                                 leave.out:     store 0, %live; br %work
    work:  …; barrier; …; ret           →      work:          br (load %live), %work.1, %work.2
                                               work.1:        …; br %work.2
                                               work.2:        barrier; br (load %live), %work.3, %work.4
                                               work.3:        …; br %work.4
                                               work.4:        ret

So a loop around barriers stays one loop, with a condition that the runtime can recognise as uniform. If threads leave the loop
itself in different trips, all of them vote at that branch on whether any thread stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from warpsmith.devices.cpu.ir.flow import Flow
from warpsmith.devices.cpu.ir.function import Block, Function, Instruction
from warpsmith.devices.cpu.ir.module import NAME
from warpsmith.devices.cpu.ir.types import result_type
from warpsmith.devices.cpu.ir.uniformity import Uniformity, is_barrier
from warpsmith.devices.cpu.ir.walk import NotPredicable, Walk

_LIVE = "%warpsmith.live"
ANY = "_Z16__spirv_GroupAnyib"
_VALUE = re.compile(rf"%{NAME}")
_INCOMING = re.compile(rf"\[ (.*?), %({NAME}) \]")


def predicated(uniformity: Uniformity) -> Function:
    """The function in which every thread reaches every barrier. Raises NotPredicable."""
    walk = Walk(uniformity)
    result = _Emission(uniformity, walk).function
    _ValuesThroughMemory(result).apply()
    entry = result.blocks[result.entry]
    entry.instructions[:0] = _parse(f"{_LIVE} = alloca i8, align 1", f"store i8 1, ptr {_LIVE}, align 1")
    return result


class _Emission:
    def __init__(self, uniformity: Uniformity, walk: Walk) -> None:
        self._function = uniformity.function
        self._leaving = uniformity.leaving
        self._walk = walk
        self._ends: dict[str, str] = {}
        self._blocks: dict[str, Block] = {}
        for label, block in self._function.blocks.items():
            if label in walk.blocks:
                self._emit_walked(block)
            else:
                self._add(label, [*block.instructions[:-1], self._terminator(label)])
                self._ends[label] = label
        for label in self._leaving:
            self._emit_way_out(label)
        for label in walk.gathering:
            self._emit_gathering(label)
        self.function = Function(self._function.header, self._blocks)
        self._complete_phis()

    def _add(self, label: str, instructions: list[Instruction]) -> None:
        self._blocks[label] = Block(label, instructions)

    def _terminator(self, label: str) -> Instruction:
        terminator = self._function.blocks[label].terminator
        side = self._leaving.get(label)
        if side is None:
            return terminator
        stays = self._walk.stays[label]
        return _one(_relabel(terminator.text.strip(), {side: _out(side, label), stays: self._after(label, stays)}))

    def _after(self, label: str, stays: str) -> str:
        """Where threads continue after a branch at which others leave."""
        return f"{label}.gathering" if label in self._walk.gathering else stays

    def _emit_gathering(self, label: str) -> None:
        place, anybody = f"{label}.gathering", f"%{label}.anybody"
        vote = f"{anybody} = call spir_func i1 @{ANY}(i32 2, i1 {anybody}.live)"
        code = _parse(f"{anybody}.flag = load i8, ptr {_LIVE}, align 1", f"{anybody}.live = icmp ne i8 {anybody}.flag, 0", vote)
        self._add(place, [*code, *_parse(f"br i1 {anybody}, label %{self._walk.stays[label]}, label %{place}.end")])
        self._add(f"{place}.end", _parse("ret void"))

    def _emit_walked(self, block: Block) -> None:
        """Splits the block into the part for all threads and guarded work, in the original order."""
        number = 0
        label = block.label
        code: list[Instruction] = []
        work: list[Instruction] = []

        def flush(*, ending: list[Instruction], otherwise: str | None) -> None:
            nonlocal number, label, code, work
            guarded, after = f"{block.label}.part{number + 1}", otherwise or f"{block.label}.part{number + 2}"
            self._add(label, [*code, *_guard(label, guarded, after)])
            self._add(guarded, [*work, *(ending or _parse(f"br label %{after}"))])
            number += 2
            label, code, work = after, [], []

        for instruction in block.instructions[:-1]:
            if instruction.opcode == "phi" or (not work and self._is_common(instruction)):
                code.append(instruction)
            elif self._is_common(instruction):
                flush(ending=[], otherwise=None)
                code.append(instruction)
            else:
                work.append(instruction)
        common_end = len(block.successors) < 2 or block.label in self._walk.branches
        if common_end:
            if work:
                flush(ending=[], otherwise=None)
            self._add(label, [*code, block.terminator])
            self._ends[block.label] = label
            return
        following = self._walk.successors(block.label)
        gathers = block.label in self._walk.gathering
        self._ends[block.label] = self._after(block.label, "") if gathers else f"{block.label}.part{number + 1}"
        end = self._after(block.label, following[0]) if following else f"{block.label}.end"
        flush(ending=[self._terminator(block.label)], otherwise=end)
        if not following:
            self._add(end, _parse("ret void"))

    def _is_common(self, instruction: Instruction) -> bool:
        return is_barrier(instruction) or self._walk.is_shared(instruction)

    def _emit_way_out(self, label: str) -> None:
        """A copy of the path from the branch to the return, which ends in the walk instead."""
        side = self._leaving[label]
        way = Flow(self._function).reachable([side])
        own = {i.result for name in way for i in self._function.blocks[name].instructions if i.result is not None}
        names = {name: _out(name, label) for name in self._function.blocks if name in way}
        for name, copy in names.items():
            code: list[Instruction] = []
            for instruction in self._function.blocks[name].instructions:
                if instruction.opcode == "ret":
                    code += _parse(
                        f"store i8 0, ptr {_LIVE}, align 1", f"br label %{self._after(label, self._walk.stays[label])}"
                    )
                    continue
                text = _relabel(instruction.text.strip(), names)
                if instruction.opcode == "phi":
                    kept = [(v, names.get(p, self._ends[label])) for v, p in _INCOMING.findall(text) if p in way or p == label]
                    text = text[: text.index("[")] + ", ".join(f"[ {v}, %{p} ]" for v, p in kept)
                code.append(_one(_VALUE.sub(lambda m: f"{m[0]}.{_slug(label)}" if m[0] in own else m[0], text)))
            self._add(copy, code)

    def _complete_phis(self) -> None:
        """Predecessors were renamed, and new ones added; threads from there do no work, so any value is valid."""
        predecessors = Flow(self.function).predecessors
        for label in self._function.blocks:
            for index, instruction in enumerate(self._blocks[label].instructions):
                if instruction.opcode != "phi":
                    break
                incoming = [(value, self._ends.get(source, source)) for value, source in _INCOMING.findall(instruction.text)]
                known = [source for _, source in incoming]
                incoming += [("poison", source) for source in dict.fromkeys(predecessors[label]) if source not in known]
                text = instruction.text[: instruction.text.index("[")] + ", ".join(f"[ {v}, %{s} ]" for v, s in incoming)
                self._blocks[label].instructions[index] = Instruction.parse(text)


class _ValuesThroughMemory:
    """Guards cut paths from some values to their uses; these are stored where they are defined and loaded where used."""

    def __init__(self, function: Function) -> None:
        self._function = function
        self._dominators = Flow(function).dominators()
        made = [(i, label) for label, block in function.blocks.items() for i in block.instructions if i.result is not None]
        self._home = {str(i.result): label for i, label in made}
        self._kinds = {str(i.result): result_type(i) for i, _ in made}
        self._slots: dict[str, str] = {}
        self._loads = 0

    def apply(self) -> None:
        at_end: dict[str, list[Instruction]] = {}
        for label in self._dominators:
            code: list[Instruction] = []
            for instruction in self._function.blocks[label].instructions:
                names = {} if instruction.opcode == "phi" else self._cut_off(instruction.operands, label)
                code += names.values()
                text = _VALUE.sub(lambda m, names=names: names[m[0]].result if m[0] in names else m[0], instruction.text)  # type: ignore[misc]
                if instruction.opcode == "phi":
                    text = self._phi(text, at_end)
                code.append(Instruction.parse(text))
            self._function.blocks[label].instructions = code
        for label, loads in at_end.items():
            self._function.blocks[label].instructions[-1:-1] = loads
        self._store()

    def _phi(self, text: str, at_end: dict[str, list[Instruction]]) -> str:
        """A phi uses its values at the end of their source blocks."""
        for value, source in _INCOMING.findall(text):
            if source in self._dominators and (load := self._cut_off((value,), source)):
                at_end.setdefault(source, []).append(load[value])
                text = text.replace(f"[ {value}, %{source} ]", f"[ {load[value].result}, %{source} ]")
        return text

    def _cut_off(self, names: Iterable[str], label: str) -> dict[str, Instruction]:
        """Loads for those of the names that are not defined on every path to the block."""
        return {
            name: self._load(name) for name in names if name in self._home and self._home[name] not in self._dominators[label]
        }

    def _load(self, name: str) -> Instruction:
        if self._kinds[name] is None:
            raise NotPredicable(f"a value of unknown type is used across a barrier: {name}")
        slot = self._slots.setdefault(name, f"{name}.slot")
        self._loads += 1
        return _one(f"{name}.kept{self._loads} = load {self._kinds[name]}, ptr {slot}")

    def _store(self) -> None:
        entry = self._function.blocks[self._function.entry]
        for name, slot in self._slots.items():
            code = self._function.blocks[self._home[name]].instructions
            position = 1 + next(i for i, instruction in enumerate(code) if instruction.result == name)
            while code[position].opcode == "phi":
                position += 1
            code.insert(position, _one(f"store {self._kinds[name]} {name}, ptr {slot}"))
            entry.instructions.insert(0, _one(f"{slot} = alloca {self._kinds[name]}"))


def _guard(label: str, work: str, after: str) -> list[Instruction]:
    name = f"%{label}.live"
    return _parse(
        f"{name} = load i8, ptr {_LIVE}, align 1",
        f"{name}.set = icmp ne i8 {name}, 0",
        f"br i1 {name}.set, label %{work}, label %{after}",
    )


def _out(label: str, branch: str) -> str:
    return f"{label}.out.{_slug(branch)}"


def _slug(label: str) -> str:
    return re.sub(r"[^\w.]", "_", label)


def _one(text: str) -> Instruction:
    return Instruction.parse(f"  {text}")


def _parse(*lines: str) -> list[Instruction]:
    return [_one(line) for line in lines]


def _relabel(text: str, new: dict[str, str]) -> str:
    return re.sub(rf"label %({NAME})", lambda m: f"label %{new.get(m[1], m[1])}", text)
