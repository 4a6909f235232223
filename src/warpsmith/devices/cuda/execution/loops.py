"""Extrapolates regular loops: two or three iterations determine the counts of the others.

The deciding values (registers live at the loop's head that control flow or addresses depend on) have to change by a constant
amount per iteration; then every comparison of later iterations is known, and the first with a different result ends the
extrapolated stretch. If something depends on values loaded in the loop, a stretch covers only part of it, so that iterations
from all over the loop are executed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from warpsmith.devices.cuda.execution.code import Instruction
from warpsmith.devices.cuda.execution.kinds import is_atomic, is_load, is_store
from warpsmith.devices.cuda.execution.memory import GlobalMemory
from warpsmith.devices.cuda.execution.operand import PREDICATES, REGISTERS, RZ, Form
from warpsmith.devices.cuda.execution.predicates import comparison
from warpsmith.devices.cuda.execution.slicing import Slice
from warpsmith.devices.cuda.execution.state import Mask, State, Words
from warpsmith.devices.cuda.execution.tally import Rows, Tally
from warpsmith.devices.cuda.execution.timeline import Timeline

_PERIODS = (1, 2)  # a buffer that is used in turn with another makes every second step alike
_FARTHEST = 1 << 20
_AT_ONCE = 1 << 21
_PARTS = 8  # of a loop that depends on data: a stretch is so much of it
_MOST_COMPARED = 20_000


@dataclass(slots=True)
class _Visit:
    mask: Mask
    registers: list[Words]
    predicates: list[Mask]
    rows: Rows
    compared: int
    time: float
    filled: int


@dataclass(slots=True)
class _Loop:
    visits: list[_Visit] = field(default_factory=list)
    stretch: int = 0


class Loops:
    """Loops of one block's run. `targets` are jump targets."""

    def __init__(self, slice_: Slice, instructions: Sequence[Instruction]) -> None:
        self._slice = slice_
        self._instructions = instructions
        self._loops: dict[int, _Loop] = {}
        self.targets = frozenset(
            place + instruction.target for place, instruction in enumerate(instructions) if instruction.target is not None
        )

    def reset(self) -> None:
        self._loops.clear()

    def came_by(
        self, last: int, first: int, mask: Mask, state: State, tally: Tally, timeline: Timeline, memory: GlobalMemory
    ) -> None:
        """At the jump back from `last` to `first`: skips as many iterations as can be extrapolated."""
        loop = self._loops.setdefault(last, _Loop())
        if len(state.compared) > _MOST_COMPARED:
            state.compared.clear()
            self._loops = {last: loop}
            loop.visits.clear()
        now = _Visit(
            mask,
            list(state.registers),
            list(state.predicates),
            tally.rows.copy(),
            len(state.compared),
            timeline.time,
            memory.filled,
        )
        if loop.visits and not _same(loop.visits[-1].mask, mask):
            loop.visits.clear()
            loop.stretch = 0
        loop.visits = [*loop.visits, now][-(2 * max(_PERIODS) + 1) :]
        depends = self._depends_on_data(first, last)
        if depends is None:
            return
        for period in _PERIODS:
            if len(loop.visits) < 2 * period + 1:
                return
            before, middle = loop.visits[-1 - 2 * period], loop.visits[-1 - period]
            changes = self._changes(first, before, middle, now)
            if changes is None:
                continue
            alike = self._alike(middle, now, before, state) // period
            if depends:
                loop.stretch = loop.stretch or max(alike // _PARTS, 1)
                alike = min(alike, loop.stretch)
            if alike < 1:
                return
            self._go_on(alike, changes, middle, now, state, tally, timeline, memory)
            loop.visits.clear()
            return

    def _depends_on_data(self, first: int, last: int) -> bool | None:
        """Whether values loaded in the loop decide something; None if values that it stores do, and no iteration may be
        skipped.
        """
        inside = [(place, self._instructions[place]) for place in range(first, last + 1) if self._slice.needed[place]]
        if any(is_store(i.name) or is_atomic(i.name) or i.name == "LDGSTS" for _, i in inside):
            return None
        return any(is_load(i.name) or _is_looked_up(i) for _, i in inside)

    def _changes(self, first: int, before: _Visit, middle: _Visit, now: _Visit) -> dict[int, Words] | None:
        """Change of deciding registers per iteration; None if one does not change by a constant."""
        found: dict[int, Words] = {}
        for index in _bits(self._slice.live[first]):
            if index >= REGISTERS + PREDICATES:  # a word of local memory, which the loop does not write
                break
            if index >= REGISTERS:
                place = index - REGISTERS
                if not _same(middle.predicates[place], now.predicates[place]):
                    return None
                continue
            a, b, c = before.registers[index], middle.registers[index], now.registers[index]
            if a is b and b is c:
                continue
            change = c - b
            if not np.array_equal(change, b - a):
                return None
            found[index] = change
        return found

    def _alike(self, middle: _Visit, now: _Visit, before: _Visit, state: State) -> int:
        """Number of further iterations whose comparisons equal the last one's."""
        earlier, later = state.compared[before.compared : middle.compared], state.compared[middle.compared : now.compared]
        if [place for place, _, _ in earlier] != [place for place, _, _ in later]:
            return 0
        alike = _FARTHEST
        for (place, a0, b0), (_, a1, b1) in zip(earlier, later, strict=True):
            if a0 is a1 and b0 is b1:
                continue
            alike = min(alike, self._unchanged(place, (a0, b0), (a1, b1), now.mask, alike))
            if alike == 0:
                break
        return alike

    def _unchanged(self, place: int, earlier: tuple[Words, Words], later: tuple[Words, Words], mask: Mask, most: int) -> int:
        holds, _ = comparison(self._instructions[place])
        columns = [np.broadcast_to(_wide(value), mask.shape)[mask] for value in later]
        columns += [np.broadcast_to(_step(new, old), mask.shape)[mask] for new, old in zip(later, earlier, strict=True)]
        if not columns[2].any() and not columns[3].any():
            return most
        a, b, da, db = np.unique(np.stack(columns), axis=1)[:, :, None]
        at_first = holds(a, b)
        begin, length = 1, 64
        while begin <= most:
            steps = np.arange(begin, min(begin + length, most + 1))
            differs = (holds(a + da * steps, b + db * steps) != at_first).any(axis=0)
            if differs.any():
                return int(steps[differs.argmax()]) - 1
            begin, length = begin + len(steps), min(length * 8, max(1, _AT_ONCE // a.size))
        return most

    def _go_on(
        self, times: int, changes: dict[int, Words], middle: _Visit, now: _Visit, state: State, tally: Tally, timeline: Timeline,
        memory: GlobalMemory,
    ) -> None:  # fmt: skip
        for index, change in changes.items():
            moved = state.registers[index] + change * np.uint32(times)
            state.registers[index] = np.where(now.mask, moved, state.registers[index])
        tally.rows += times * (now.rows - middle.rows)
        timeline.advance(times * (now.time - middle.time))
        memory.filled += times * (now.filled - middle.filled)


def _is_looked_up(instruction: Instruction) -> bool:
    """Whether it loads from a constant table."""
    return instruction.name == "LDC" and any(o.form is Form.CONSTANT and o.index != RZ for o in instruction.operands)


def _wide(value: Words) -> NDArray[np.int64]:
    return value.astype(np.int64)


def _step(new: Words, old: Words) -> NDArray[np.int64]:
    """The change, which may wrap around."""
    return (new.view(np.uint32) - old.view(np.uint32)).view(np.int32).astype(np.int64)


def _same(one: Mask, two: Mask) -> bool:
    return one is two or bool((one == two).all())


def _bits(number: int) -> Iterator[int]:
    while number:
        lowest = number & -number
        yield lowest.bit_length() - 1
        number ^= lowest
