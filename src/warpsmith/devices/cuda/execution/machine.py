"""Executes a kernel's code for a block of threads: all warps in lockstep, the threads that are furthest behind first.

So divergent threads reconverge, as the compiler arranges it, and each path is counted for the warps that take it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from warpsmith.core.errors import UnsupportedFeature
from warpsmith.core.hardware import Dim3, Geometry
from warpsmith.devices.cuda.execution.code import Code, Instruction
from warpsmith.devices.cuda.execution.exchange import WARP, specials
from warpsmith.devices.cuda.execution.kinds import is_access, is_atomic, is_load, is_store, space
from warpsmith.devices.cuda.execution.loops import Loops
from warpsmith.devices.cuda.execution.memory import GlobalMemory, OwnMemory
from warpsmith.devices.cuda.execution.operand import PT, REGISTERS, RZ, UNIFORM_PREDICATES, URZ, Form, Operand
from warpsmith.devices.cuda.execution.patterns import Patterns, Places
from warpsmith.devices.cuda.execution.slicing import Slice
from warpsmith.devices.cuda.execution.state import Constants, Mask, Reader, State, Step, raw
from warpsmith.devices.cuda.execution.steps import step_of
from warpsmith.devices.cuda.execution.tally import Column, Tally
from warpsmith.devices.cuda.execution.timeline import Latencies, Timeline

_ENDS = frozenset(["BRA", "BRX", "JMP", "EXIT", "CALL", "RET", "KILL", "BAR"])
_IGNORED = frozenset(["BSSY", "BSYNC", "BREAK", "BMOV", "WARPSYNC", "YIELD", "NOP"])
_MOST_STEPS = 3_000_000  # more is a loop that nothing can be foretold of


Action: TypeAlias = Callable[[Mask, Mask], None]
"""For the threads whose guard holds, and all that reached the instruction."""


@dataclass(frozen=True, slots=True)
class Program:
    """Of a kernel and a launch."""

    code: Code
    slice: Slice
    constants: Constants
    geometry: Geometry
    shared_bytes: int
    local_bytes: int


class Machine:
    """For one launch's blocks, one after another."""

    def __init__(self, program: Program, memory: GlobalMemory, cached_sectors: float, latencies: Latencies) -> None:
        threads = program.geometry.threads_per_block
        self._program = program
        self._instructions: Sequence[Instruction] = program.code.instructions
        self._memory = memory
        self._cached_sectors = cached_sectors
        self._patterns = Patterns()
        self._state = State(-(-threads // WARP) * WARP)
        self._tally = Tally.empty(len(self._instructions))
        self._timeline = Timeline(program.code.issues, [i.kind.pipe for i in self._instructions], latencies)
        self._specials = specials(program.geometry, self._state.threads)
        self._shared = OwnMemory(1, program.shared_bytes)
        self._local = OwnMemory(self._state.threads, program.local_bytes)
        self._loops = Loops(program.slice, self._instructions)
        self._blocks: dict[int, tuple[int, list[tuple[int, Operand | None, Action]]]] = {}
        self._steps = 0
        everyone = np.arange(self._state.threads) < threads
        self._everyone = self._state.everyone if everyone.all() else everyone

    def run(self, block: Dim3) -> Tally:
        """Execute the block. Raises UnsupportedFeature."""
        self._state.reset()
        self._tally.rows.fill(0.0)
        self._timeline.reset()
        self._loops.reset()
        self._steps = 0
        for axis, place in zip("XYZ", block, strict=True):
            self._specials[f"SR_CTAID.{axis}"].fill(place)
        waiting: dict[int, Mask] = {0: self._everyone}
        with np.errstate(all="ignore"):
            while waiting:
                place = min(waiting)
                for goes, mask in self._pass(place, waiting.pop(place)):
                    waiting[goes] = mask if goes not in waiting else self._joined(waiting[goes], mask)
        return Tally(self._tally.rows.copy(), self._timeline.time)

    def _joined(self, one: Mask, two: Mask) -> Mask:
        both = one | two
        return self._everyone if bool((both == self._everyone).all()) else both

    def _pass(self, first: int, mask: Mask) -> list[tuple[int, Mask]]:
        """One basic block, from `first`; where its threads continue."""
        if first not in self._blocks:
            self._blocks[first] = self._compiled(first)
        last, steps = self._blocks[first]
        self._steps += last - first + 1
        if self._steps > _MOST_STEPS:
            raise UnsupportedFeature("the kernel's loops are too long to execute, and could not be extrapolated")
        per_warp = mask.reshape(-1, WARP)
        threads = int(mask.sum())
        self._tally.executed(first, last, int(per_warp.any(axis=1).sum()), threads)
        for place, guard, step in steps:
            if guard is None:
                step(mask, mask)
                continue
            inside = self._state.predicate(guard) & mask
            self._tally.idle(place, threads - int(inside.sum()))
            if inside.any():
                step(mask if bool((inside == mask).all()) else inside, mask)
        if per_warp[0].any():
            self._timeline.passed(first, last, self._tally)
        return self._continued(last, mask)

    def _continued(self, last: int, mask: Mask) -> list[tuple[int, Mask]]:
        instruction = self._instructions[last]
        if instruction.name not in _ENDS or instruction.name == "BAR":
            return [(last + 1, mask)]
        taken = mask
        conditions = [o for o in (instruction.guard, *instruction.operands) if o is not None and o.form is Form.PREDICATE]
        for operand in conditions:
            taken = taken & self._state.predicate(operand)
        if "DIV" in instruction.modifiers:  # only where a warp's threads have parted, which is not looked at
            taken = taken & False
        if bool((taken == mask).all()):
            taken, others = mask, None
        else:
            others = mask & ~taken
        found = [(last + 1, others)] if others is not None else []
        if not taken.any():
            return found
        match instruction.name:
            case "EXIT" | "KILL":
                return found
            case "RET":
                return [*found, *self._returned(last, taken)]
            case _ if instruction.target is None:
                raise UnsupportedFeature(f"a jump whose target is computed ({instruction.text})")
        goes = last + instruction.target
        if goes <= last and instruction.name == "BRA":
            self._loops.came_by(last, goes, taken, self._state, self._tally, self._timeline, self._memory)
        return [*found, (goes, taken)]

    def _returned(self, place: int, mask: Mask) -> list[tuple[int, Mask]]:
        instruction = self._instructions[place]
        register = next(o for o in instruction.operands if o.form is Form.REGISTER)
        offset = next(o.value for o in instruction.operands if o.form is Form.NUMBER)
        targets = self._state.registers[register.index].view(np.int32) // 16 + place + offset
        return [(int(goes), mask & (targets == goes)) for goes in np.unique(targets[mask])]

    def _compiled(self, first: int) -> tuple[int, list[tuple[int, Operand | None, Action]]]:
        found: list[tuple[int, Operand | None, Action]] = []
        place = first
        while True:
            if place >= len(self._instructions):
                raise UnsupportedFeature("the kernel runs past its end")
            instruction = self._instructions[place]
            if step := self._step(place, instruction):
                found.append((place, _condition(instruction), step))
            elif instruction.guard is not None and self._is_known(place, instruction.guard):
                found.append((place, _condition(instruction), lambda _inside, _mask: None))
            if instruction.name in _ENDS or place + 1 in self._loops.targets:
                return place, found
            place += 1

    def _is_known(self, place: int, guard: Operand) -> bool:
        """Whether the predicate is computed: that of an instruction that decides nothing need not be."""
        return bool(self._program.slice.live[place] >> (REGISTERS + guard.index) & 1)

    def _step(self, place: int, instruction: Instruction) -> Action | None:
        program, state = self._program, self._state
        name = instruction.name
        instruction.kind  # noqa: B018 - refused if it is not known
        if is_access(name):
            return self._access(place, instruction)
        if name in _ENDS or name in _IGNORED or not program.slice.needed[place]:
            return None
        step: Step = step_of(place, instruction, program.constants, self._specials)
        return lambda inside, _mask: step(state, inside)

    def _access(self, place: int, instruction: Instruction) -> Action:
        name, width, tally, state = instruction.name, instruction.access_bytes, self._tally, self._state
        where = space(name)
        address = instruction.address
        assert address is not None
        read = self._address(address)
        values = self._values(place, instruction)
        memory, patterns, within = self._memory, self._patterns, self._cached_sectors
        threads, loads = state.threads, is_load(name) or name == "LDGSTS"

        def touch(inside: Mask, _mask: Mask) -> None:
            addresses = read(state)
            if addresses.shape != inside.shape:
                addresses = np.broadcast_to(addresses, (threads,))
            if where == "shared":
                requests = int(inside.reshape(-1, WARP).any(axis=1).sum())
                tally.accessed(place, requests, patterns.wavefronts(addresses, inside, width), 0, 0, 0)
            elif where == "local":
                warps = inside.reshape(-1, WARP).sum(axis=1)
                sectors = int((-(-warps * width // 32)).sum())
                tally.accessed(place, int((warps > 0).sum()), sectors, 0, 0, 0)
            else:
                memory.require_inside(addresses, inside, width, instruction.text)
                found, first = patterns.touched(addresses, inside, width)
                missed, never = memory.touch(first, found.distinct, within)
                tally.accessed(place, found.requests, found.sectors, found.lines, missed, never)
                if not loads:
                    memory.written(addresses, inside)
            if values is not None:
                values(addresses, inside)

        if name != "LDGSTS":
            return touch
        into = self._address(instruction.operands[0])

        def copy(inside: Mask, mask: Mask) -> None:
            touch(inside, mask)
            wavefronts = patterns.wavefronts(np.broadcast_to(into(state), (threads,)), inside, width)
            tally.rows[place, Column.WRITTEN] += wavefronts

        return copy

    def _values(self, place: int, instruction: Instruction) -> Callable[[Places, Mask], None] | None:
        """Effects of an access beyond counting, if something depends on it."""
        program, state, name, width = self._program, self._state, instruction.name, instruction.access_bytes
        if not program.slice.needed[place]:
            return None
        spaces: dict[str, GlobalMemory | OwnMemory] = {"shared": self._shared, "local": self._local, "global": self._memory}
        memory = spaces[space(name)]
        if is_load(name):
            target = instruction.operands[0] if instruction.operands[0].form is Form.REGISTER else instruction.operands[1]
            narrow = next((m for m in instruction.modifiers if m in {"S8", "S16"}), None)

            def load(addresses: Places, inside: Mask) -> None:
                for above, words in enumerate(memory.load(addresses, inside, width)):
                    value = words
                    if narrow:
                        kind = np.int8 if narrow == "S8" else np.int16
                        value = words.astype(kind).astype(np.int32).view(np.uint32)
                    state.write(target.index + above, value, inside)

            return load
        if is_store(name):
            source = instruction.operands[-1]
            readers: list[Reader] = [raw(source, program.constants, above) for above in range(max(1, width // 4))]
            assert isinstance(memory, OwnMemory)
            return lambda addresses, inside: memory.store(addresses, inside, width, [read(state) for read in readers])
        what = "an atomic operation" if is_atomic(name) else "an asynchronous copy"
        raise UnsupportedFeature(f"an address or a branch depends on the result of {what} ({instruction.text})")

    def _address(self, operand: Operand) -> Callable[[State], Places]:
        index, uniform, offset, scale = operand.index, operand.uniform, operand.value, operand.scale
        readers: list[Callable[[State], Places]] = []
        if index != RZ:
            readers.append(_register(index, operand.wide, scale))
        if uniform != URZ:
            readers.append(_register(uniform, operand.wide_uniform, 1))

        start = np.full(1, offset, np.int64)

        def read(state: State) -> Places:
            total: Places = start
            for reader in readers:
                total = total + reader(state)
            return total

        if operand.wide or operand.wide_uniform:
            return read
        return lambda state: read(state) & 0xFFFFFFFF


def _register(index: int, wide: bool, scale: int) -> Callable[[State], Places]:
    if wide:
        return lambda state: state.registers[index].astype(np.int64) | state.registers[index + 1].astype(np.int64) << 32
    return lambda state: state.registers[index].astype(np.int64) * scale


def _condition(instruction: Instruction) -> Operand | None:
    guard = instruction.guard
    return None if guard is None or (guard.index % UNIFORM_PREDICATES == PT and not guard.inverted) else guard
