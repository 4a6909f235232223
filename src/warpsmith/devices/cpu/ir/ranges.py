"""Interval arithmetic on integers, emitted as IR: the result's range contains every result of operands in their ranges.

Ranges are in signed order. One that would wrap around becomes the whole type. That takes a comparison at run time, unless it is
known statically that nothing can wrap.
"""

from __future__ import annotations

from dataclasses import dataclass, field

_SIGNED = {"slt": "sgt", "sle": "sge", "sgt": "slt", "sge": "sle"}
_UNSIGNED = {"ult": "ugt", "ule": "uge", "ugt": "ult", "uge": "ule"}
_MIRRORED = _SIGNED | _UNSIGNED  # the predicate with its operands exchanged
_EXACT_BITS = 64


@dataclass(frozen=True, slots=True)
class Range:
    """`low` and `high` are operands of type `kind`; `least` and `most` are their static bounds."""

    kind: str
    low: str
    high: str
    least: int
    most: int

    @classmethod
    def of_value(cls, kind: str, operand: str) -> Range:
        """The range of a single value, known or not."""
        least, most = ends(kind)
        if operand.lstrip("-").isdigit():
            least = most = int(operand)
        return cls(kind, operand, operand, least, most)

    @classmethod
    def everything(cls, kind: str) -> Range:
        least, most = ends(kind)
        return cls(kind, str(least), str(most), least, most)

    @property
    def is_one_value(self) -> bool:
        return self.low == self.high


@dataclass(slots=True)
class Code:
    """Lines of IR under construction; `name` is the prefix of new values."""

    name: str
    lines: list[str] = field(default_factory=list)

    def add(self, body: str) -> str:
        result = f"{self.name}.{len(self.lines)}"
        self.lines.append(f"{result} = {body}")
        return result


def ends(kind: str) -> tuple[int, int]:
    bits = int(kind[1:])
    return -(1 << bits - 1), (1 << bits - 1) - 1


def cast(code: Code, operation: str, operand: Range, kind: str) -> Range:
    match operation:
        case "sext":
            return _same(code, f"sext {operand.kind} {{}} to {kind}", operand, kind)
        case "zext":
            wide = _same(code, f"zext {operand.kind} {{}} to {kind}", operand, kind)
            if operand.least >= 0:
                return wide
            return _unless_wrong(code, code.add(f"icmp sge {operand.kind} {operand.low}, 0"), wide)
        case _:
            narrow = _same(code, f"trunc {operand.kind} {{}} to {kind}", operand, kind)
            least, most = ends(kind)
            if operand.least >= least and operand.most <= most:
                return narrow
            above = code.add(f"icmp sge {operand.kind} {operand.low}, {least}")
            below = code.add(f"icmp sle {operand.kind} {operand.high}, {most}")
            return _unless_wrong(code, code.add(f"and i1 {above}, {below}"), narrow)


def arithmetic(code: Code, operation: str, left: Range, right: Range) -> Range:
    """One of the two must be a single value; in divisions and shifts the right one. Shifts are by a constant."""
    kind = left.kind
    match operation:
        case "add":
            one, other = (left, right) if right.is_one_value else (right, left)
            low, high = (code.add(f"add {kind} {end}, {other.low}") for end in (one.low, one.high))
            return _ordered(code, kind, low, high, left.least + right.least, left.most + right.most)
        case "sub":
            low, high = (code.add(f"sub {kind} {a}, {b}") for a, b in ((left.low, right.high), (left.high, right.low)))
            return _ordered(code, kind, low, high, left.least - right.most, left.most - right.least)
        case "mul":
            return _product(code, left, right) if right.is_one_value else _product(code, right, left)
        case "shl":
            factor = 1 << int(right.low)
            return _product(code, left, Range.of_value(kind, str(factor))) if factor <= ends(kind)[1] else Range.everything(kind)
        case _:
            return _quotient(code, operation, left, right)


def always(code: Code, predicate: str, left: Range, right: Range) -> str | None:
    """A value that is true only if the comparison holds for the whole ranges; None if it cannot be formed."""
    if predicate in {"sgt", "sge", "ugt", "uge"}:
        return always(code, _MIRRORED[predicate], right, left)
    holds = f"icmp {predicate} {left.kind} {left.high}, {right.low}"
    if predicate in _SIGNED:
        return code.add(holds)
    if predicate not in _UNSIGNED or not (left.is_one_value or right.is_one_value):
        return None
    # If the range has no negative numbers, both orders are equal.
    varying = right if left.is_one_value else left
    natural = code.add(f"icmp sge {varying.kind} {varying.low}, 0")
    return code.add(f"and i1 {natural}, {code.add(holds)}")


def _product(code: Code, varying: Range, factor: Range) -> Range:
    kind = varying.kind
    corners = [a * b for a in (varying.least, varying.most) for b in (factor.least, factor.most)]
    fits = ends(kind)[0] <= min(corners) and max(corners) <= ends(kind)[1]
    if fits and factor.least >= 0:
        low, high = (code.add(f"mul {kind} {end}, {factor.low}") for end in (varying.low, varying.high))
        return Range(kind, low, high, min(corners), max(corners))
    if int(kind[1:]) * 2 > _EXACT_BITS:
        return Range.everything(kind)
    wide = code.add(f"sext {kind} {factor.low} to i64")
    one, other = (code.add(f"mul i64 {code.add(f'sext {kind} {end} to i64')}, {wide}") for end in (varying.low, varying.high))
    rising = code.add(f"icmp sle i64 {one}, {other}")
    low = code.add(f"select i1 {rising}, i64 {one}, i64 {other}")
    high = code.add(f"select i1 {rising}, i64 {other}, i64 {one}")
    return cast(code, "trunc", Range("i64", low, high, min(corners), max(corners)), kind)


def _quotient(code: Code, operation: str, left: Range, right: Range) -> Range:
    kind = left.kind
    if operation == "ashr":
        found = _same(code, f"ashr {kind} {{}}, {right.low}", left, kind)
        return Range(kind, found.low, found.high, min(left.least, 0), max(left.most, 0))
    if operation == "sdiv":
        positive = code.add(f"icmp sgt {kind} {right.low}, 0")
        # Not the divisor itself: the least number divided by -1 traps.
        divisor = code.add(f"select i1 {positive}, {kind} {right.low}, {kind} 1")
        return _unless_wrong(code, positive, _same(code, f"sdiv {kind} {{}}, {divisor}", left, kind))
    # udiv, lshr: the same as signed for non-negative values
    natural = code.add(f"icmp sge {kind} {left.low}, 0")
    return _unless_wrong(code, natural, _same(code, f"{operation} {kind} {{}}, {right.low}", left, kind))


def _same(code: Code, operation: str, operand: Range, kind: str) -> Range:
    """Both ends through a monotonic operation."""
    low, high = (code.add(operation.format(end)) for end in (operand.low, operand.high))
    least, most = ends(kind)
    return Range(kind, low, high, max(operand.least, least), min(operand.most, most))


def _ordered(code: Code, kind: str, low: str, high: str, least: int, most: int) -> Range:
    """Both ends moved by the same amount: if only one of them wrapped, their order is reversed."""
    if ends(kind)[0] <= least and most <= ends(kind)[1]:
        return Range(kind, low, high, least, most)
    return _unless_wrong(code, code.add(f"icmp sle {kind} {low}, {high}"), Range(kind, low, high, *ends(kind)))


def _unless_wrong(code: Code, right: str, found: Range) -> Range:
    """The range if it is correct, otherwise the whole type."""
    least, most = ends(found.kind)
    low = code.add(f"select i1 {right}, {found.kind} {found.low}, {found.kind} {least}")
    high = code.add(f"select i1 {right}, {found.kind} {found.high}, {found.kind} {most}")
    return Range(found.kind, low, high, least, most)
