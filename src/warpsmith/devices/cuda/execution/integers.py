"""Integer instructions, as operations on vectors of threads."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from warpsmith.devices.cuda.execution.code import Instruction
from warpsmith.devices.cuda.execution.operand import RZ, URZ, Form, Operand
from warpsmith.devices.cuda.execution.slicing import results
from warpsmith.devices.cuda.execution.state import Constants, Mask, Reader, State, Step, Words, integer, raw, refuse

Longs = NDArray[np.uint64]
_LOW = np.uint64(0xFFFFFFFF)
_32 = np.uint64(32)


def low(value: Longs) -> Words:
    return (value & _LOW).astype(np.uint32)


def high(value: Longs) -> Words:
    return (value >> _32).astype(np.uint32)


def signed(value: Words) -> NDArray[np.int64]:
    return value.view(np.int32).astype(np.int64)


def pair(operand: Operand, constants: Constants) -> Callable[[State], Longs]:
    """64 bits from two registers; a number is sign-extended."""
    if operand.form is Form.NUMBER:
        value = np.array([operand.value & 0xFFFFFFFFFFFFFFFF], np.uint64)
        return lambda _state: value
    first, second = raw(operand, constants), raw(operand, constants, 1)
    whole: Callable[[State], Longs] = lambda state: first(state).astype(np.uint64) | second(state).astype(np.uint64) << _32  # noqa: E731
    if operand.negative:
        return lambda state: -whole(state)
    return whole


def _value(make: Callable[..., Words], *readers: Reader) -> Callable[[Operand], Step]:
    def step_for(target: Operand) -> Step:
        index = target.index
        match readers:
            case (one,):
                return lambda state, mask: state.write(index, make(one(state)), mask)
            case (one, two):
                return lambda state, mask: state.write(index, make(one(state), two(state)), mask)
            case _:
                return lambda state, mask: state.write(index, make(*(read(state) for read in readers)), mask)

    return step_for


def _split(instruction: Instruction) -> tuple[Operand, tuple[Operand, ...], tuple[Operand, ...], tuple[Operand, ...]]:
    """Destination register, destination predicates, sources, and trailing predicates."""
    written, count = results(instruction)
    target = next((o for o in written if o.form is Form.REGISTER), Operand(Form.REGISTER, RZ))
    decided = tuple(o for o in written if o.form is Form.PREDICATE)
    rest = instruction.operands[count:]
    sources = tuple(o for o in rest if o.form is not Form.PREDICATE)
    return target, decided, sources, tuple(o for o in rest if o.form is Form.PREDICATE)


def add(instruction: Instruction, constants: Constants) -> Step:
    target, carries, sources, carried = _split(instruction)
    is_extended = "X" in instruction.modifiers
    if not carries and not is_extended:
        return _value(lambda *terms: sum(terms[1:], terms[0]), *(integer(o, constants) for o in sources))(target)
    terms = [_term(o, constants) for o in sources]

    def step(state: State, mask: Mask) -> None:
        total = terms[0](state)
        for term in terms[1:]:
            total = total + term(state)
        if is_extended:
            for operand in carried:
                total = total + state.predicate(operand)
        state.write(target.index, low(total), mask)
        for level, operand in enumerate(carries, 1):
            state.decide(operand, high(total) >= level, mask)

    return step


def _term(operand: Operand, constants: Constants) -> Callable[[State], Longs]:
    """A negated term is its complement plus one, whose carry counts."""
    read = raw(operand, constants)
    if operand.negative:
        return lambda state: np.uint64(1 << 32) - read(state).astype(np.uint64)
    if operand.inverted:
        return lambda state: (~read(state)).astype(np.uint64)
    return lambda state: read(state).astype(np.uint64)


def multiply_add(instruction: Instruction, constants: Constants) -> Step:
    """IMAD, in its forms: the lower half of the sum, with a carry, the upper half, or both."""
    modifiers = instruction.modifiers
    if "WIDE" in modifiers or "HI" in modifiers:
        return _multiply_add_wide(instruction, constants)
    target, carries, sources, carried = _split(instruction)
    one, two = (raw(o, constants) for o in sources[:2])
    three = integer(sources[2], constants)
    if carries:
        raise refuse(instruction)
    negative = sources[0].negative != sources[1].negative
    if "X" not in modifiers:
        if sources[0].form is Form.REGISTER and sources[0].index in {RZ, URZ}:
            return _value(lambda c: c, three)(target)
        if negative:
            return _value(lambda a, b, c: c - a * b, one, two, three)(target)
        return _value(lambda a, b, c: a * b + c, one, two, three)(target)

    def step(state: State, mask: Mask) -> None:
        product = one(state) * two(state)
        total = three(state) + (-product if negative else product)
        for operand in carried:
            total = total + state.predicate(operand).astype(np.uint32)
        state.write(target.index, total, mask)

    return step


def _multiply_add_wide(instruction: Instruction, constants: Constants) -> Step:
    target, carries, sources, _ = _split(instruction)
    one, two = (raw(o, constants) for o in sources[:2])
    third = pair(sources[2], constants)
    negative = sources[0].negative != sources[1].negative
    is_unsigned, is_high = "U32" in instruction.modifiers, "HI" in instruction.modifiers

    def widened(value: Words) -> Longs:
        return value.astype(np.uint64) if is_unsigned else signed(value).view(np.uint64)

    def step(state: State, mask: Mask) -> None:
        product = widened(one(state)) * widened(two(state))
        added = third(state)
        total = added + (-product if negative else product)
        if is_high:
            state.write(target.index, high(total), mask)
            return
        state.write(target.index, low(total), mask)
        if target.index not in {RZ, URZ}:
            state.write(target.index + 1, high(total), mask)
        for operand in carries:
            state.decide(operand, total < added, mask)

    return step


def shifted_add(instruction: Instruction, constants: Constants) -> Step:
    """LEA: a shifted register and another."""
    target, carries, sources, carried = _split(instruction)
    modifiers = instruction.modifiers
    shift = np.uint64(sources[-1].value)
    first, second = raw(sources[0], constants), _term(sources[1], constants)
    third = raw(sources[2], constants) if len(sources) == 4 else None
    is_high, is_extended = "HI" in modifiers, "X" in modifiers

    def step(state: State, mask: Mask) -> None:
        if "SX32" in modifiers:
            value = signed(first(state)).view(np.uint64)
        else:
            value = first(state).astype(np.uint64)
            if third is not None:
                value = value | third(state).astype(np.uint64) << _32
        value = value << shift
        shifted = value >> _32 if is_high else value & _LOW
        if sources[0].negative:
            shifted = np.uint64(1 << 32) - shifted
        elif sources[0].inverted:
            shifted = ~shifted & _LOW
        total = (shifted & _LOW) + second(state) if not sources[0].negative else shifted + second(state)
        if is_extended:
            for operand in carried:
                total = total + state.predicate(operand)
        state.write(target.index, low(total), mask)
        for operand in carries:
            state.decide(operand, high(total) > 0, mask)

    return step


def funnel_shift(instruction: Instruction, constants: Constants) -> Step:
    target, _, sources, _ = _split(instruction)
    modifiers = instruction.modifiers
    first, by, third = (raw(o, constants) for o in sources)
    is_signed = "S32" in modifiers or "S64" in modifiers
    wraps, is_high, is_left = "W" in modifiers, "HI" in modifiers, "L" in modifiers
    mask_of = np.uint32(63 if "U64" in modifiers or "S64" in modifiers else 31)

    def step(state: State, mask: Mask) -> None:
        count = by(state) & mask_of if wraps else np.minimum(by(state), np.uint32(63))
        value: Longs = first(state).astype(np.uint64) | third(state).astype(np.uint64) << _32
        if is_left:
            value = np.left_shift(value, count.astype(np.uint64))
        elif is_signed:
            value = (value.view(np.int64) >> count.astype(np.int64)).view(np.uint64)
        else:
            value = np.right_shift(value, count.astype(np.uint64))
        state.write(target.index, high(value) if is_high else low(value), mask)

    return step


def logic(instruction: Instruction, constants: Constants) -> Step:
    target, decided, sources, _ = _split(instruction)
    readers = [integer(o, constants) for o in sources[:3]]
    table = sources[3].value if len(sources) > 3 else 0xC0

    def step(state: State, mask: Mask) -> None:
        value = looked_up(table, *(read(state) for read in readers))
        if target.index not in {RZ, URZ}:
            state.write(target.index, value, mask)
        if decided:
            state.decide(decided[0], value != 0, mask)

    return step


_TABLES: dict[int, Callable[[Words, Words, Words], Words]] = {
    0xC0: lambda a, b, _: a & b,
    0xFC: lambda a, b, _: a | b,
    0x3C: lambda a, b, _: a ^ b,
    0x0F: lambda a, _b, _c: ~a,
    0x33: lambda _a, b, _c: ~b,
    0x80: lambda a, b, c: a & b & c,
    0xFE: lambda a, b, c: a | b | c,
    0x96: lambda a, b, c: a ^ b ^ c,
    0xF8: lambda a, b, c: a | (b & c),
    0xEA: lambda a, b, c: (a & b) | c,
}


def looked_up(table: int, a: Words, b: Words, c: Words) -> Words:
    """LOP3: a function of three bits, for all bits of words."""
    known = _TABLES.get(table)
    if known is not None:
        return known(a, b, c)
    found: Words = np.zeros(1, np.uint32)
    for minterm in range(8):
        if table >> minterm & 1:
            found = found | ((a if minterm & 4 else ~a) & (b if minterm & 2 else ~b) & (c if minterm & 1 else ~c))
    return found


def permute(instruction: Instruction, constants: Constants) -> Step:
    target, _, sources, _ = _split(instruction)
    if len(instruction.modifiers):
        raise refuse(instruction)
    first, selector, second = (raw(o, constants) for o in sources)

    def step(state: State, mask: Mask) -> None:
        value = first(state).astype(np.uint64) | second(state).astype(np.uint64) << _32
        chosen = selector(state).astype(np.uint64)
        total: Longs = np.zeros(1, np.uint64)
        for byte in range(4):
            nibble = chosen >> np.uint64(4 * byte) & np.uint64(15)
            found = value >> (np.uint64(8) * (nibble & np.uint64(7))) & np.uint64(255)
            found = np.where(nibble & np.uint64(8), np.where(found & np.uint64(128), np.uint64(255), np.uint64(0)), found)
            total = total | found << np.uint64(8 * byte)
        state.write(target.index, low(total), mask)

    return step


def half_constant(instruction: Instruction, constants: Constants) -> Step:
    """HFMA2 of zero and two halves: a compiler's way to set a register when the integer units are busy."""
    target, *rest = instruction.operands
    halves = [o for o in rest if o.form in {Form.FLOAT, Form.NUMBER}]
    if len(halves) != 2 or any(o.form is Form.REGISTER and o.index != RZ for o in rest):
        raise refuse(instruction)
    del constants
    upper, lower = (int(np.float16(o.real).view(np.uint16)) for o in halves)
    value = np.array([upper << 16 | lower], np.uint32)
    return lambda state, mask: state.write(target.index, value, mask)


def move(instruction: Instruction, constants: Constants) -> Step:
    target, _, sources, _ = _split(instruction)
    return _value(lambda a: a, integer(sources[0], constants))(target)


def select(instruction: Instruction, constants: Constants) -> Step:
    target, _, sources, conditions = _split(instruction)
    one, two = (integer(o, constants) for o in sources)
    condition = conditions[0]
    return lambda state, mask: state.write(target.index, np.where(state.predicate(condition), one(state), two(state)), mask)


def extreme(instruction: Instruction, constants: Constants) -> Step:
    """The minimum if the predicate holds, else the maximum."""
    target, _, sources, conditions = _split(instruction)
    one, two = (integer(o, constants) for o in sources)
    kind = np.uint32 if "U32" in instruction.modifiers else np.int32
    condition = conditions[0]

    def step(state: State, mask: Mask) -> None:
        a, b = one(state).view(kind), two(state).view(kind)
        state.write(target.index, np.where(state.predicate(condition), np.minimum(a, b), np.maximum(a, b)).view(np.uint32), mask)

    return step


def sum_extreme(instruction: Instruction, constants: Constants) -> Step:
    """VIADDMNMX: the minimum of a sum and a third operand if the predicate holds, else the maximum."""
    target, _, sources, conditions = _split(instruction)
    one, two, three = (integer(o, constants) for o in sources)
    kind = np.uint32 if "U32" in instruction.modifiers else np.int32
    condition = conditions[0]

    def step(state: State, mask: Mask) -> None:
        a, b = (one(state) + two(state)).view(kind), three(state).view(kind)
        state.write(target.index, np.where(state.predicate(condition), np.minimum(a, b), np.maximum(a, b)).view(np.uint32), mask)

    return step


def absolute(instruction: Instruction, constants: Constants) -> Step:
    target, _, sources, _ = _split(instruction)
    return _value(lambda a: np.abs(a.view(np.int32)).view(np.uint32), integer(sources[0], constants))(target)


def sign_extend(instruction: Instruction, constants: Constants) -> Step:
    """SGXT: extends a field of the given width, by its sign unless unsigned."""
    target, _, sources, _ = _split(instruction)
    one, bits = (raw(o, constants) for o in sources)

    def step(state: State, mask: Mask) -> None:
        unused = np.uint32(32) - np.minimum(bits(state), np.uint32(32))
        value = one(state) << unused
        if "U32" in instruction.modifiers:
            state.write(target.index, value >> unused, mask)
        else:
            state.write(target.index, (value.view(np.int32) >> unused.astype(np.int32)).view(np.uint32), mask)

    return step


def reverse(instruction: Instruction, constants: Constants) -> Step:
    target, _, sources, _ = _split(instruction)

    def reversed_bits(value: Words) -> Words:
        for by, keep in ((1, 0x55555555), (2, 0x33333333), (4, 0x0F0F0F0F), (8, 0x00FF00FF)):
            value = (value >> np.uint32(by) & np.uint32(keep)) | (value & np.uint32(keep)) << np.uint32(by)
        return value >> np.uint32(16) | value << np.uint32(16)

    return _value(reversed_bits, integer(sources[0], constants))(target)


def population(instruction: Instruction, constants: Constants) -> Step:
    target, _, sources, _ = _split(instruction)
    return _value(lambda a: np.bitwise_count(a).astype(np.uint32), integer(sources[0], constants))(target)


def leading_one(instruction: Instruction, constants: Constants) -> Step:
    """FLO: the number of the highest set bit, all ones if there is none."""
    target, _, sources, _ = _split(instruction)
    is_unsigned, from_above = "U32" in instruction.modifiers, "SH" in instruction.modifiers

    def found(value: Words) -> Words:
        if not is_unsigned:
            value = np.where(value >> np.uint32(31) != 0, ~value, value)
        place = np.frexp(value.astype(np.float64))[1] - 1
        place = 31 - place if from_above else place
        return np.where(value == 0, -1, place).astype(np.int64).astype(np.uint32)

    return _value(found, integer(sources[0], constants))(target)
