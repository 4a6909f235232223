"""Maps an instruction to the function that executes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from warpsmith.devices.cuda.execution import exchange, floats, integers, predicates
from warpsmith.devices.cuda.execution.code import Instruction
from warpsmith.devices.cuda.execution.operand import RZ, URZ, Form, Operand
from warpsmith.devices.cuda.execution.slicing import result_registers
from warpsmith.devices.cuda.execution.state import Constants, Mask, State, Step, Words, constant, raw, refuse

Builder: TypeAlias = Callable[[Instruction, Constants], Step]

_BUILDERS: dict[Builder, str] = {
    integers.add: "IADD3 UIADD3 IADD VIADD",
    integers.multiply_add: "IMAD UIMAD",
    integers.shifted_add: "LEA ULEA",
    integers.funnel_shift: "SHF USHF",
    integers.logic: "LOP3 ULOP3",
    integers.permute: "PRMT UPRMT",
    integers.half_constant: "HFMA2",
    integers.move: "MOV UMOV MOV32I R2UR UR2UR",
    integers.select: "SEL USEL",
    integers.extreme: "IMNMX VIMNMX UIMNMX",
    integers.sum_extreme: "VIADDMNMX",
    integers.absolute: "IABS UIABS",
    integers.sign_extend: "SGXT USGXT",
    integers.reverse: "BREV UBREV",
    integers.population: "POPC UPOPC",
    integers.leading_one: "FLO UFLO",
    floats.arithmetic: "FADD FMUL FFMA",
    floats.function: "MUFU",
    floats.from_integer: "I2F I2FP",
    floats.to_integer: "F2I F2IP",
    floats.extreme: "FMNMX",
    floats.chosen: "FSEL",
    predicates.compare_floats: "FSETP",
    predicates.combine_predicates: "PLOP3 UPLOP3",
    predicates.to_register: "P2R",
    predicates.from_register: "R2P",
    exchange.shuffle: "SHFL",
    exchange.vote: "VOTE VOTEU",
}
_BY_NAME = {name: builder for builder, names in _BUILDERS.items() for name in names.split()}


def step_of(place: int, instruction: Instruction, constants: Constants, specials: dict[str, Words]) -> Step:
    """Raises UnsupportedFeature for an instruction that is not executed."""
    match instruction.name:
        case "S2R" | "S2UR" | "CS2R":
            return exchange.told(instruction, specials)
        case "ISETP" | "UISETP":
            return predicates.compare(instruction, constants, place)
        case "LDC" | "ULDC":
            return _load_constant(instruction, constants)
        case "FCHK":  # whether a division needs the slow way: taken as the rule, that it does not
            found = instruction.operands[0]
            return lambda state, mask: state.decide(found, ~state.everyone, mask)
        case name:
            builder = _BY_NAME.get(name)
            if builder is None:
                raise refuse(instruction)
            return builder(instruction, constants)


def _load_constant(instruction: Instruction, constants: Constants) -> Step:
    target, source = instruction.operands
    count = result_registers(instruction)
    if source.form is not Form.CONSTANT or target.index in {RZ, URZ}:
        return lambda _state, _mask: None  # a descriptor, which decides nothing
    if source.index == RZ:
        values = [_known(constants, source.bank, source.value + 4 * above) for above in range(count)]

        def step(state: State, mask: Mask) -> None:
            for above, value in enumerate(values):
                state.write(target.index + above, value, mask)

        return step
    data = np.frombuffer(constants.banks.get(source.bank, b""), np.uint8)
    index = raw(Operand(Form.REGISTER, source.index), constants)

    def gather(state: State, mask: Mask) -> None:
        places = np.where(mask, index(state).astype(np.int64) + source.value, 0)
        if not len(data) or bool((places + 4 * count > len(data)).any()):
            raise refuse(instruction)
        words = data[places[:, None] + np.arange(4 * count)].view(np.uint32)
        for above in range(count):
            state.write(target.index + above, np.ascontiguousarray(words[:, above]), mask)

    return gather


def _known(constants: Constants, bank: int, offset: int) -> Words:
    """The bytes between parameters (the memory descriptor) decide nothing."""
    data = constants.banks.get(bank, b"")
    return constant(int.from_bytes(data[offset : offset + 4].ljust(4, b"\0"), "little"))
