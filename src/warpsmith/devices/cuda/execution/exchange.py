"""Warp shuffles and votes, and special registers."""

from __future__ import annotations

import numpy as np

from warpsmith.core.hardware import Geometry
from warpsmith.devices.cuda.execution.code import Instruction
from warpsmith.devices.cuda.execution.operand import Form, Operand
from warpsmith.devices.cuda.execution.state import Constants, Mask, State, Step, Words, raw, refuse

WARP = 32


def specials(geometry: Geometry, threads: int) -> dict[str, Words]:
    """Special registers of a block's threads, which are counted along x first; those beyond its end pad the last warp."""
    number = np.arange(threads, dtype=np.uint32)
    x, y, _ = (np.uint32(size) for size in geometry.block)
    lane = number % np.uint32(WARP)
    return {
        "SR_TID.X": number % x,
        "SR_TID.Y": number // x % y,
        "SR_TID.Z": number // (x * y),
        **{f"SR_CTAID.{axis}": np.zeros(threads, np.uint32) for axis in "XYZ"},  # filled for each block
        "SR_LANEID": lane,
        "SR_EQMASK": np.uint32(1) << lane,
        "SR_LTMASK": (np.uint32(1) << lane) - np.uint32(1),
        "SR_LEMASK": (np.uint32(2) << lane) - np.uint32(1),
        "SR_GTMASK": ~((np.uint32(2) << lane) - np.uint32(1)),
        "SR_GEMASK": ~((np.uint32(1) << lane) - np.uint32(1)),
        "SR_CgaCtaId": np.zeros(threads, np.uint32),  # no clusters
        "SRZ": np.zeros(threads, np.uint32),
    }


def told(instruction: Instruction, values: dict[str, Words]) -> Step:
    """S2R, S2UR, CS2R."""
    target, source = instruction.operands
    value = values.get(source.text)
    if value is None:
        raise refuse(instruction)
    registers = 2 if instruction.name == "CS2R" and "32" not in instruction.modifiers else 1

    def step(state: State, mask: Mask) -> None:
        state.write(target.index, value, mask)
        if registers == 2:
            state.write(target.index + 1, np.zeros_like(value), mask)

    return step


def shuffle(instruction: Instruction, constants: Constants) -> Step:
    """SHFL: bounds as PTX has them, a clamp and a mask of segments."""
    found, target, source, by, bounds = instruction.operands
    read, distance, limits = (raw(o, constants) for o in (source, by, bounds))
    mode = instruction.modifiers[0]

    def step(state: State, mask: Mask) -> None:
        lane = np.arange(state.threads) % WARP
        first = np.arange(state.threads) - lane
        b, c = (
            np.broadcast_to(distance(state), lane.shape).astype(np.int64),
            np.broadcast_to(limits(state), lane.shape).astype(np.int64),
        )
        segment = c >> 8 & 31
        clamp = c & 31
        highest = (lane & segment) | (clamp & ~segment)
        lowest = lane & segment
        match mode:
            case "UP":
                other = lane - (b & 31)
                inside = other >= highest
            case "DOWN":
                other = lane + (b & 31)
                inside = other <= highest
            case "BFLY":
                other = lane ^ (b & 31)
                inside = other <= highest
            case _:
                other = lowest | (b & 31 & ~segment)
                inside = other <= highest
        place = first + np.where(inside, other, lane)
        value = np.broadcast_to(read(state), lane.shape)[place]
        state.decide(found, inside, mask)
        state.write(target.index, value, mask)

    return step


def vote(instruction: Instruction, _constants: Constants) -> Step:
    """VOTE: a ballot in a register, and any, all, or all equal."""
    registers = [o for o in instruction.operands if o.form is Form.REGISTER]
    predicates = [o for o in instruction.operands if o.form is Form.PREDICATE]
    source, decided = predicates[-1], predicates[:-1]
    mode = instruction.modifiers[0]

    def step(state: State, mask: Mask) -> None:
        said = (state.predicate(source) & mask).reshape(-1, WARP)
        asked = mask.reshape(-1, WARP)
        ballot = (said.astype(np.uint64) << np.arange(WARP, dtype=np.uint64)).sum(axis=1).astype(np.uint32)
        match mode:
            case "ANY":
                holds = said.any(axis=1)
            case "ALL":
                holds = (said | ~asked).all(axis=1)
            case _:
                raise refuse(instruction)
        for operand in registers[:1]:
            state.write(operand.index, np.repeat(ballot, WARP), _written(operand, state, mask))
        for operand in decided:
            state.decide(operand, np.repeat(holds, WARP), mask)

    return step


def _written(operand: Operand, state: State, mask: Mask) -> Mask:
    """A uniform register is the warp's: inactive threads see it, too."""
    return state.everyone if operand.text == "" and operand.index >= 256 else mask
