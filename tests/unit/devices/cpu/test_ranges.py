"""The law of ranges: what lies in the operands' ranges has its result in the computed one. A small interpreter runs the code."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from warpsmith.devices.cpu.ir import ranges
from warpsmith.devices.cpu.ir.ranges import Code, Range

KIND = "i8"  # small enough to try every value
LEAST, MOST = ranges.ends(KIND)
NUMBERS = st.integers(LEAST, MOST)
PREDICATES = ["slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"]


def wrapped(value: int, bits: int) -> int:
    return (value + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)


def unsigned(value: int, bits: int) -> int:
    return value % (1 << bits)


def quotient(left: int, right: int) -> int:
    return abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)


def calculated(operation: str, kind: str, left: int, right: int) -> int:
    bits = int(kind[1:])
    match operation:
        case "add":
            result = left + right
        case "sub":
            result = left - right
        case "mul":
            result = left * right
        case "and":
            result = left & right
        case "shl":
            result = left << right
        case "sdiv":
            assert (left, right) != (-(1 << bits - 1), -1), "the processor would stop here"
            result = quotient(left, right)
        case "udiv":
            result = unsigned(left, bits) // unsigned(right, bits)
        case "ashr":
            result = left >> right
        case "lshr":
            result = unsigned(left, bits) >> right
        case _:
            raise AssertionError(operation)
    return wrapped(result, bits) if bits > 1 else result


def compared(predicate: str, kind: str, left: int, right: int) -> bool:
    bits = int(kind[1:])
    if predicate.startswith("u"):
        left, right = unsigned(left, bits), unsigned(right, bits)
    return {"lt": left < right, "le": left <= right, "gt": left > right, "ge": left >= right}[predicate[1:]]


def cast(operation: str, source: str, value: int, target: str) -> int:
    return wrapped(unsigned(value, int(source[1:])) if operation == "zext" else value, int(target[1:]))


def run(code: Code, values: dict[str, int]) -> dict[str, int]:
    values = dict(values)

    def number(text: str) -> int:
        return values[text] if text.startswith("%") else int(text)

    for line in code.lines:
        name, body = line.split(" = ")
        if match := re.fullmatch(r"icmp (\w+) (i\d+) (\S+), (\S+)", body):
            values[name] = int(compared(match[1], match[2], number(match[3]), number(match[4])))
        elif match := re.fullmatch(r"select i1 (\S+), i\d+ (\S+), i\d+ (\S+)", body):
            values[name] = number(match[2] if number(match[1]) else match[3])
        elif match := re.fullmatch(r"(\w+) (i\d+) (\S+) to (i\d+)", body):
            values[name] = cast(match[1], match[2], number(match[3]), match[4])
        else:
            match = re.fullmatch(r"(\w+) (i\d+) (\S+), (\S+)", body)
            assert match is not None, body
            values[name] = calculated(match[1], match[2], number(match[3]), number(match[4]))
    return values


def varying(least: int = LEAST, most: int = MOST) -> Range:
    return Range(KIND, "%low", "%high", least, most)


def holds(found: Range, values: dict[str, int], result: int) -> bool:
    low, high = (values[end] if end.startswith("%") else int(end) for end in (found.low, found.high))
    return found.least <= low <= result <= high <= found.most


@given(st.sampled_from(["add", "sub", "mul", "sdiv", "udiv"]), NUMBERS, NUMBERS, NUMBERS, st.booleans())
def test_arithmetic_with_one_value(operation, one_end, other_end, factor, exactly_known):
    low, high = sorted((one_end, other_end))
    if operation.endswith("div") and (factor == 0 or (factor == -1 and low == LEAST)):
        return  # undefined in the program itself
    code = Code("%r")
    operand = varying(low, high) if exactly_known else varying()
    found = ranges.arithmetic(code, operation, operand, Range.of_value(KIND, str(factor) if exactly_known else "%x"))
    values = run(code, {"%low": low, "%high": high, "%x": factor})
    assert all(holds(found, values, calculated(operation, KIND, x, factor)) for x in range(low, high + 1))


@given(st.sampled_from(["add", "sub", "mul"]), NUMBERS, NUMBERS, NUMBERS)
def test_one_value_on_the_left(operation, one_end, other_end, first):
    low, high = sorted((one_end, other_end))
    code = Code("%r")
    found = ranges.arithmetic(code, operation, Range.of_value(KIND, "%x"), varying())
    values = run(code, {"%low": low, "%high": high, "%x": first})
    assert all(holds(found, values, calculated(operation, KIND, first, x)) for x in range(low, high + 1))


@given(st.sampled_from(["shl", "ashr", "lshr"]), NUMBERS, NUMBERS, st.integers(0, 7), st.booleans())
def test_shifts(operation, one_end, other_end, amount, exactly_known):
    low, high = sorted((one_end, other_end))
    code = Code("%r")
    operand = varying(low, high) if exactly_known else varying()
    found = ranges.arithmetic(code, operation, operand, Range.of_value(KIND, str(amount)))
    values = run(code, {"%low": low, "%high": high})
    assert all(holds(found, values, calculated(operation, KIND, x, amount)) for x in range(low, high + 1))


@given(st.sampled_from([("sext", "i16"), ("zext", "i16"), ("trunc", "i4")]), NUMBERS, NUMBERS, st.booleans())
def test_casts(to, one_end, other_end, exactly_known):
    operation, kind = to
    low, high = sorted((one_end, other_end))
    code = Code("%r")
    found = ranges.cast(code, operation, varying(low, high) if exactly_known else varying(), kind)
    values = run(code, {"%low": low, "%high": high})
    assert all(holds(found, values, cast(operation, KIND, x, kind)) for x in range(low, high + 1))


@given(st.sampled_from(PREDICATES), NUMBERS, NUMBERS, NUMBERS, st.booleans())
def test_what_always_holds_holds_for_every_value(predicate, one_end, other_end, limit, left_varies):
    low, high = sorted((one_end, other_end))
    code = Code("%r")
    value = Range.of_value(KIND, "%x")
    answer = ranges.always(code, predicate, *((varying(), value) if left_varies else (value, varying())))
    assert answer is not None
    if run(code, {"%low": low, "%high": high, "%x": limit})[answer]:
        for x in range(low, high + 1):
            assert compared(predicate, KIND, *((x, limit) if left_varies else (limit, x)))


def test_a_wide_range_is_told_from_a_wrapped_one():
    code = Code("%r")
    found = ranges.arithmetic(code, "add", varying(), Range.of_value(KIND, "%x"))
    values = run(code, {"%low": 10, "%high": 100, "%x": 20})
    assert (values[found.low], values[found.high]) == (30, 120)
    values = run(code, {"%low": 10, "%high": 100, "%x": 40})
    assert (values[found.low], values[found.high]) == (LEAST, MOST)


def test_the_last_thread_decides_a_guard():
    code = Code("%r")
    answer = ranges.always(code, "slt", varying(), Range.of_value(KIND, "%x"))
    assert answer is not None
    assert run(code, {"%low": 0, "%high": 31, "%x": 32})[answer] == 1
    assert run(code, {"%low": 0, "%high": 31, "%x": 31})[answer] == 0


def test_equality_has_no_bounds():
    assert ranges.always(Code("%r"), "eq", varying(), Range.of_value(KIND, "%x")) is None
