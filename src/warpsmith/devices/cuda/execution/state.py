"""Registers and predicates of a block's threads, one vector each; reading of operands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from warpsmith.core.errors import UnsupportedFeature
from warpsmith.devices.cuda.execution.code import Instruction
from warpsmith.devices.cuda.execution.operand import PREDICATES, PT, REGISTERS, RZ, UNIFORM_PREDICATES, URZ, Form, Operand

Words: TypeAlias = NDArray[np.uint32]
Mask: TypeAlias = NDArray[np.bool_]
Reader: TypeAlias = Callable[["State"], Words]
Step: TypeAlias = Callable[["State", Mask], None]

SIGN = np.uint32(0x80000000)


@dataclass(slots=True)
class State:
    """`compared` has the operands of comparisons, in order, from which loops are extrapolated."""

    threads: int
    registers: list[Words] = field(default_factory=list)
    predicates: list[Mask] = field(default_factory=list)
    compared: list[tuple[int, Words, Words]] = field(default_factory=list)
    everyone: Mask = field(default_factory=lambda: np.ones(0, bool))

    def __post_init__(self) -> None:
        self.everyone = np.ones(self.threads, bool)
        self.reset()

    def reset(self) -> None:
        zero = np.zeros(self.threads, np.uint32)
        self.registers = [zero] * REGISTERS
        self.compared.clear()
        false = np.zeros(self.threads, bool)
        self.predicates = [self.everyone if place % UNIFORM_PREDICATES == PT else false for place in range(PREDICATES)]

    def write(self, index: int, value: Words, mask: Mask) -> None:
        if index in {RZ, URZ}:
            return
        if mask is self.everyone and value.shape == mask.shape:
            self.registers[index] = value
        else:
            self.registers[index] = np.where(mask, value, self.registers[index])

    def decide(self, operand: Operand, value: Mask, mask: Mask) -> None:
        if operand.index % UNIFORM_PREDICATES != PT:
            self.predicates[operand.index] = np.where(mask, value, self.predicates[operand.index])

    def predicate(self, operand: Operand) -> Mask:
        value = self.predicates[operand.index]
        return ~value if operand.inverted else value


@dataclass(frozen=True, slots=True)
class Constants:
    """Constant banks at the start of a launch, and which bytes of each are known."""

    banks: dict[int, bytes]

    def word(self, bank: int, offset: int) -> int:
        data = self.banks.get(bank)
        if data is None or offset < 0 or offset + 4 > len(data):
            raise UnsupportedFeature(f"the constant c[{bank:#x}][{offset:#x}] is not known without a driver")
        return int.from_bytes(data[offset : offset + 4], "little")


def refuse(instruction: Instruction) -> UnsupportedFeature:
    return UnsupportedFeature(
        f"an address or a branch depends on {'.'.join((instruction.name, *instruction.modifiers))}, which is not executed"
        f" ({instruction.text})"
    )


def constant(value: int) -> Words:
    return np.array([value & 0xFFFFFFFF], np.uint32)


def raw(operand: Operand, constants: Constants, above: int = 0) -> Reader:
    """The bits of an operand, or of the register `above` it, without sign modifiers."""
    match operand.form:
        case Form.REGISTER:
            index = operand.index if operand.index in {RZ, URZ} else operand.index + above
            return lambda state: state.registers[index]
        case Form.NUMBER:
            value = constant(operand.value >> (32 * above))
            return lambda _state: value
        case Form.FLOAT:
            value = constant(operand.value)
            return lambda _state: value
        case Form.CONSTANT if operand.index == RZ:
            value = constant(constants.word(operand.bank, operand.value + 4 * above))
            return lambda _state: value
        case _:
            raise UnsupportedFeature(f"the operand {operand} is not read")


def integer(operand: Operand, constants: Constants, above: int = 0) -> Reader:
    read = raw(operand, constants, above)
    if operand.inverted:
        return lambda state: ~read(state)
    if operand.absolute:
        if operand.negative:
            return lambda state: -np.abs(read(state).view(np.int32)).view(np.uint32)
        return lambda state: np.abs(read(state).view(np.int32)).view(np.uint32)
    if operand.negative:
        return lambda state: -read(state)
    return read


def single(operand: Operand, constants: Constants) -> Callable[[State], NDArray[np.float32]]:
    """As floating point."""
    read = raw(operand, constants)
    if operand.absolute and operand.negative:
        return lambda state: (read(state) | SIGN).view(np.float32)
    if operand.absolute:
        return lambda state: (read(state) & ~SIGN).view(np.float32)
    if operand.negative:
        return lambda state: (read(state) ^ SIGN).view(np.float32)
    return lambda state: read(state).view(np.float32)
