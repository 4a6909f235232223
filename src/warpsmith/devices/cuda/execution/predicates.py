"""Comparisons and predicate logic."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from warpsmith.devices.cuda.execution.code import Instruction
from warpsmith.devices.cuda.execution.operand import PT, Form
from warpsmith.devices.cuda.execution.state import Constants, Mask, State, Step, integer, raw, refuse, single

Compare = Callable[[Any, Any], Any]
COMPARISONS: dict[str, Compare] = {
    "LT": operator.lt, "LE": operator.le, "GT": operator.gt, "GE": operator.ge, "EQ": operator.eq, "NE": operator.ne,
}  # fmt: skip
_STRICT: dict[str, Compare] = {"LT": operator.lt, "LE": operator.lt, "GT": operator.gt, "GE": operator.gt}
_COMBINE: dict[str, Compare] = {"AND": operator.and_, "OR": operator.or_, "XOR": operator.xor}


def comparison(instruction: Instruction) -> tuple[Compare, type[np.signedinteger[Any] | np.unsignedinteger[Any]]]:
    """Kind and type of an integer comparison."""
    return COMPARISONS[instruction.modifiers[0]], np.uint32 if "U32" in instruction.modifiers else np.int32


def compare(instruction: Instruction, constants: Constants, place: int) -> Step:
    """ISETP. The compared values are recorded."""
    first, second, *sources = instruction.operands
    if instruction.modifiers[0] not in COMPARISONS:
        raise refuse(instruction)
    holds, kind = comparison(instruction)
    one, two = (integer(o, constants) for o in sources[:2])
    with_condition = next((m for m in instruction.modifiers if m in _COMBINE), "AND")
    combine, condition = _COMBINE[with_condition], sources[2]
    lower = sources[3] if "EX" in instruction.modifiers else None

    def step(state: State, mask: Mask) -> None:
        a, b = one(state).view(kind), two(state).view(kind)
        state.compared.append((place, a, b))
        found = holds(a, b)
        if lower is not None:
            low = state.predicate(lower)
            match instruction.modifiers[0]:
                case "EQ":
                    found = found & low
                case "NE":
                    found = found | low
                case name:
                    found = _STRICT[name](a, b) | ((a == b) & low)
        other = state.predicate(condition)
        state.decide(first, combine(found, other), mask)
        if second.index % 8 != PT:
            state.decide(second, combine(~found, other), mask)

    return step


def compare_floats(instruction: Instruction, constants: Constants) -> Step:
    """FSETP; comparisons whose name ends in U also hold for NaN."""
    first, second, *sources = instruction.operands
    name = instruction.modifiers[0]
    unordered = len(name) == 3 and name.endswith("U")
    holds = COMPARISONS.get(name.removesuffix("U") if unordered else name)
    if holds is None or instruction.name != "FSETP":
        raise refuse(instruction)
    one, two = (single(o, constants) for o in sources[:2])
    combine = _COMBINE[next((m for m in instruction.modifiers if m in _COMBINE), "AND")]
    condition = sources[2]

    def step(state: State, mask: Mask) -> None:
        a, b = one(state), two(state)
        found = holds(a, b)
        if name == "NE":
            found = found & ~(np.isnan(a) | np.isnan(b))
        elif unordered:
            found = found | np.isnan(a) | np.isnan(b)
        other = state.predicate(condition)
        state.decide(first, combine(found, other), mask)
        if second.index % 8 != PT:
            state.decide(second, combine(~found, other), mask)

    return step


def combine_predicates(instruction: Instruction, _constants: Constants) -> Step:
    """PLOP3: tables of three predicates."""
    first, second, *sources = instruction.operands
    conditions = [o for o in sources if o.form is Form.PREDICATE][:3]
    tables = [o.value for o in sources if o.form is Form.NUMBER]

    def step(state: State, mask: Mask) -> None:
        a, b, c = (state.predicate(o) for o in conditions)
        number = a * 4 + b * 2 + c * 1
        for operand, table in zip((first, second), tables, strict=False):
            state.decide(operand, (table >> number & 1).astype(bool), mask)

    return step


def to_register(instruction: Instruction, constants: Constants) -> Step:
    """P2R: predicates as the lowest bits of a register, or of the given byte."""
    target, _, other, which = instruction.operands
    read, keep = raw(other, constants), raw(which, constants)
    byte = next((int(m[1]) for m in target.text.split(".") if m[:1] == "B"), 0)

    def step(state: State, mask: Mask) -> None:
        bits = sum(state.predicates[place].astype(np.uint32) << np.uint32(place) for place in range(PT))
        chosen = (np.asarray(bits, np.uint32) & keep(state)) << np.uint32(8 * byte)
        state.write(target.index, chosen | (read(state) & ~(keep(state) << np.uint32(8 * byte))), mask)

    return step


def from_register(instruction: Instruction, constants: Constants) -> Step:
    """R2P: the reverse."""
    _, source, which = instruction.operands
    read = raw(source, constants)
    byte = next((int(m[1]) for m in source.text.split(".") if m[:1] == "B"), 0)

    def step(state: State, mask: Mask) -> None:
        value = read(state) >> np.uint32(8 * byte)
        for place in range(PT):
            if which.value >> place & 1:
                state.predicates[place] = np.where(mask, value >> np.uint32(place) & np.uint32(1) != 0, state.predicates[place])

    return step
