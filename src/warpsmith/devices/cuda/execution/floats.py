"""Floating point and conversions, for addresses and branches that depend on them: divided indices, computed shifts.

Fused operations are rounded once, through double precision.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpsmith.devices.cuda.execution.code import Instruction
from warpsmith.devices.cuda.execution.integers import pair
from warpsmith.devices.cuda.execution.operand import Form, Operand
from warpsmith.devices.cuda.execution.state import Constants, Mask, State, Step, integer, refuse, single

Floats = NDArray[Any]
_ROUND = {"TRUNC": np.trunc, "FLOOR": np.floor, "CEIL": np.ceil}
_FUNCTIONS: dict[str, Callable[[Floats], Floats]] = {
    "RCP": lambda x: 1 / x,
    "RSQ": lambda x: 1 / np.sqrt(x),
    "SQRT": np.sqrt,
    "EX2": np.exp2,
    "LG2": np.log2,
    "SIN": np.sin,
    "COS": np.cos,
    "TANH": np.tanh,
}


def arithmetic(instruction: Instruction, constants: Constants) -> Step:
    """FADD, FMUL, FFMA."""
    target, *sources = instruction.operands
    readers = [single(o, constants) for o in sources if o.form is not Form.PREDICATE]
    towards = next((m for m in instruction.modifiers if m in {"RZ", "RM", "RP"}), "")
    saturates = "SAT" in instruction.modifiers

    def step(state: State, mask: Mask) -> None:
        terms = [read(state).astype(np.float64) for read in readers]
        match instruction.name:
            case "FADD":
                exact = terms[0] + terms[1]
            case "FMUL":
                exact = terms[0] * terms[1]
            case _:
                exact = terms[0] * terms[1] + terms[2]
        value = rounded(exact, towards)
        if saturates:
            value = np.clip(value, np.float32(0), np.float32(1))
        state.write(target.index, value.view(np.uint32), mask)

    return step


def rounded(exact: NDArray[np.float64], towards: str) -> NDArray[np.float32]:
    """To single precision: to nearest, towards zero, down or up."""
    value = exact.astype(np.float32)
    wide = value.astype(np.float64)
    match towards:
        case "RZ":
            return np.where(np.abs(wide) > np.abs(exact), np.nextafter(value, np.float32(0)), value)
        case "RM":
            return np.where(wide > exact, np.nextafter(value, np.float32(-np.inf)), value)
        case "RP":
            return np.where(wide < exact, np.nextafter(value, np.float32(np.inf)), value)
        case _:
            return value


def function(instruction: Instruction, constants: Constants) -> Step:
    """MUFU, in single precision."""
    target, source = instruction.operands
    compute = _FUNCTIONS.get(instruction.modifiers[0])
    if compute is None:
        raise refuse(instruction)
    read = single(source, constants)

    def step(state: State, mask: Mask) -> None:
        with np.errstate(all="ignore"):
            state.write(target.index, compute(read(state)).astype(np.float32).view(np.uint32), mask)

    return step


def from_integer(instruction: Instruction, constants: Constants) -> Step:
    target, source = instruction.operands
    kind = next((m for m in reversed(instruction.modifiers) if m[0] in "SU"), "S32")
    is_double = "F64" in instruction.modifiers
    if "F16" in instruction.modifiers:
        raise refuse(instruction)
    towards = next((m for m in instruction.modifiers if m in {"RZ", "RM", "RP"}), "")
    read = _integers(source, kind, constants)

    def step(state: State, mask: Mask) -> None:
        exact = read(state).astype(np.float64)
        if is_double:
            _write_double(state, target, exact, mask)
        else:
            state.write(target.index, rounded(exact, towards).view(np.uint32), mask)

    return step


def _integers(source: Operand, kind: str, constants: Constants) -> Callable[[State], NDArray[Any]]:
    if kind in {"S64", "U64"}:
        whole = pair(source, constants)
        return lambda state: whole(state).view(np.int64 if kind == "S64" else np.uint64)
    read = integer(source, constants)
    byte = next((int(m[1]) for m in source.text.split(".") if m[:1] == "B" and m[1:].isdigit()), 0)
    match kind:
        case "U32":
            return read
        case "U16" | "U8":
            keep = np.uint32(0xFFFF if kind == "U16" else 0xFF)
            return lambda state: read(state) >> np.uint32(8 * byte) & keep
        case "S16" | "S8":
            unused = np.uint32(16 if kind == "S16" else 24)
            return lambda state: (read(state) >> np.uint32(8 * byte) << unused).view(np.int32) >> unused.astype(np.int32)
        case _:
            return lambda state: read(state).view(np.int32)


def to_integer(instruction: Instruction, constants: Constants) -> Step:
    target, source = instruction.operands
    modifiers = instruction.modifiers
    rounding = next((_ROUND[m] for m in modifiers if m in _ROUND), np.rint)
    kind = next((m for m in modifiers if m in {"U32", "S64", "U64", "U16", "S16"}), "S32")
    if "F16" in modifiers:
        raise refuse(instruction)
    lowest, highest = {
        "U32": (0, 2**32 - 1), "S32": (-(2**31), 2**31 - 1), "S64": (-(2**63), 2**63 - 1024), "U64": (0, 2**64 - 2048),
        "U16": (0, 2**16 - 1), "S16": (-(2**15), 2**15 - 1),
    }[kind]  # fmt: skip
    doubles = pair(source, constants) if "F64" in modifiers else None
    singles = None if doubles is not None else single(source, constants)

    def step(state: State, mask: Mask) -> None:
        exact = doubles(state).view(np.float64) if doubles is not None else _checked(singles)(state).astype(np.float64)
        exact = np.nan_to_num(np.clip(rounding(exact), lowest, highest), nan=0.0)
        if kind in {"S64", "U64"}:
            whole = exact.astype(np.int64 if kind == "S64" else np.uint64).view(np.uint64)
            state.write(target.index, whole.astype(np.uint32), mask)
            state.write(target.index + 1, (whole >> np.uint64(32)).astype(np.uint32), mask)
        else:
            state.write(target.index, exact.astype(np.int64).astype(np.uint32), mask)

    return step


def _checked(reader: Callable[[State], NDArray[np.float32]] | None) -> Callable[[State], NDArray[np.float32]]:
    assert reader is not None
    return reader


def _write_double(state: State, target: Operand, value: NDArray[np.float64], mask: Mask) -> None:
    bits = value.view(np.uint64)
    state.write(target.index, bits.astype(np.uint32), mask)
    state.write(target.index + 1, (bits >> np.uint64(32)).astype(np.uint32), mask)


def extreme(instruction: Instruction, constants: Constants) -> Step:
    """FMNMX: the minimum if the predicate holds, else the maximum."""
    target, first, second, condition = instruction.operands
    one, two = single(first, constants), single(second, constants)

    def step(state: State, mask: Mask) -> None:
        a, b = one(state), two(state)
        value = np.where(state.predicate(condition), np.fmin(a, b), np.fmax(a, b)).astype(np.float32)
        state.write(target.index, value.view(np.uint32), mask)

    return step


def chosen(instruction: Instruction, constants: Constants) -> Step:
    target, first, second, condition = instruction.operands
    one, two = single(first, constants), single(second, constants)

    def step(state: State, mask: Mask) -> None:
        value = np.where(state.predicate(condition), one(state), two(state))
        state.write(target.index, value.view(np.uint32), mask)

    return step
