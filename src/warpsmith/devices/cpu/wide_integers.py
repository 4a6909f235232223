"""Lowers 128-bit integers (`__int128`) where clang's SPIR-V cannot express them or the runtime cannot compile them.

Constants lose their upper half in clang's SPIR-V, so those that have one are assembled from two. Comparisons are built from
those of the halves. Division and remainder, for which the runtime would need C library functions that it lacks, use our own.
Conversion from and to floating point, with the same problem, and constants in initialisers are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from warpsmith.devices.cpu.ir.module import NAME, Module
from warpsmith.devices.cpu.refusals import unsupported

_DIVISION = re.compile(
    rf"^  (?P<result>%{NAME}) = (?P<kind>[us])(?P<what>div|rem) (?:exact )?i128 (?P<a>[^ ,]+), (?P<b>[^ ,]+)(?P<rest>.*)$"
)
_COMPARISON = re.compile(
    rf"^  (?P<result>%{NAME}) = icmp (?:samesign )?(?P<how>\w+) i128 (?P<a>[^ ,]+), (?P<b>[^ ,]+)(?P<rest>.*)$"
)
_CONVERSION = re.compile(r" = (?:[su]itofp i128 |fpto[su]i \w+ \S+ to i128)|@llvm\.fpto[su]i\.sat\.i128\.")
# A binary operation's second operand has no type in front, and a phi's operands have brackets.
_LITERAL = re.compile(
    r"(?P<before>\bi128 (?:(?:noundef |signext |zeroext )*(?:[^ ,()\[]+, )?|(?:\[ [^]]* \], )*\[ ))(?P<literal>-?\d+)(?=[ ,)]|$)"
)
_NUMBER = re.compile(r"(?<=[ ,])-?\d+\b")
_FUNCTION = "__warpsmith_divided"
# One quotient bit per step. The remainder may need a 129th bit before it is reduced, hence `over`.
_DEFINITION = f"""
define internal spir_func i128 @{_FUNCTION}(i128 %a, i128 %b, i1 %want_remainder) {{
entry:
  br label %step
step:
  %done = phi i32 [ 0, %entry ], [ %next, %step ]
  %remainder = phi i128 [ 0, %entry ], [ %reduced, %step ]
  %rest = phi i128 [ %a, %entry ], [ %quotient, %step ]
  %over = icmp slt i128 %remainder, 0
  %high = shl i128 %remainder, 1
  %bit = lshr i128 %rest, 127
  %grown = or i128 %high, %bit
  %enough = icmp uge i128 %grown, %b
  %take = or i1 %over, %enough
  %less = sub i128 %grown, %b
  %reduced = select i1 %take, i128 %less, i128 %grown
  %shifted = shl i128 %rest, 1
  %digit = zext i1 %take to i128
  %quotient = or i128 %shifted, %digit
  %next = add i32 %done, 1
  %end = icmp eq i32 %next, 128
  br i1 %end, label %exit, label %step
exit:
  %result = select i1 %want_remainder, i128 %reduced, i128 %quotient
  ret i128 %result
}}""".strip().splitlines()


def uses_wide_integers(ir: str) -> bool:
    return "i128" in ir


def write_out_wide_integers(module: Module, source_file: Path) -> None:
    """Changes the module in place. Raises UnsupportedFeature."""
    for _, lines in module.pieces:
        if lines[0].startswith("@") and _wide_literals(lines[0]):
            feature = "constant data of 128-bit integers"
            raise unsupported(feature, "keep the halves as 64-bit integers", module, lines[0], source_file)
    divides = False
    for name, lines in module.functions.items():
        if not any("i128" in line for line in lines):
            continue
        for line in lines:
            if _CONVERSION.search(line):
                feature = "conversion between 128-bit integers and floating point"
                raise unsupported(feature, "convert the two halves instead", module, line, source_file)
        divides |= any(_DIVISION.match(line) for line in lines)
        module.replace(name, _written_out(lines))
    if divides:
        module.pieces.append((_FUNCTION, _written_out(_DEFINITION)))


def _wide_literals(line: str) -> list[int]:
    """Those that do not fit into the lower half, or whose sign bit would be misread."""
    numbers = map(int, _NUMBER.findall(line)) if "i128" in line else ()
    return [number for number in numbers if not 0 <= number < 1 << 63]


def _written_out(lines: list[str]) -> list[str]:
    constants: dict[int, str] = {}

    def name_of(match: re.Match[str]) -> str:
        value = int(match["literal"]) % (1 << 128)
        if value < 1 << 63:
            return match[0]
        return match["before"] + constants.setdefault(value, f"%wide.constant.{len(constants)}")

    body: list[str] = []
    for number, written in enumerate(lines):
        line = written
        while "i128" in line and (named := _LITERAL.sub(name_of, line)) != line:
            line = named
        if match := _DIVISION.match(line):
            body += _division(match, f"%wide.{number}")
        elif match := _COMPARISON.match(line):
            body += _comparison(match, f"%wide.{number}")
        else:
            body.append(line)
    start = 2 if body[1].endswith(":") else 1
    return [*body[:start], *(new for value, name in constants.items() for new in _constant(value, name)), *body[start:]]


def _constant(value: int, name: str) -> Iterator[str]:
    yield f"  {name}.high = zext i64 {value >> 64} to i128"
    yield f"  {name}.shifted = shl i128 {name}.high, 64"
    yield f"  {name}.low = zext i64 {value & ((1 << 64) - 1)} to i128"
    yield f"  {name} = or i128 {name}.shifted, {name}.low"


def _comparison(match: re.Match[str], part: str) -> Iterator[str]:
    """By the upper halves, and if they are equal by the lower ones, which are unsigned."""
    how, rest = match["how"], match["rest"]
    for operand in "ab":
        yield f"  {part}.{operand}.low = trunc i128 {match[operand]} to i64{rest}"
        yield f"  {part}.{operand}.shifted = lshr i128 {match[operand]}, 64{rest}"
        yield f"  {part}.{operand}.high = trunc i128 {part}.{operand}.shifted to i64{rest}"
    lower = how if how in {"eq", "ne"} else f"u{how[1:]}"
    yield f"  {part}.same = icmp eq i64 {part}.a.high, {part}.b.high{rest}"
    yield f"  {part}.upper = icmp {how} i64 {part}.a.high, {part}.b.high{rest}"
    yield f"  {part}.lower = icmp {lower} i64 {part}.a.low, {part}.b.low{rest}"
    yield f"  {match['result']} = select i1 {part}.same, i1 {part}.lower, i1 {part}.upper{rest}"


def _division(match: re.Match[str], part: str) -> Iterator[str]:
    a, b, rest, wants_remainder = match["a"], match["b"], match["rest"], str(match["what"] == "rem").lower()
    if match["kind"] == "u":
        yield f"  {match['result']} = call spir_func i128 @{_FUNCTION}(i128 {a}, i128 {b}, i1 {wants_remainder}){rest}"
        return
    # Towards zero: the quotient is negative where the signs differ, the remainder where the dividend is.
    for operand, value in (("a", a), ("b", b)):
        yield f"  {part}.{operand}.sign = ashr i128 {value}, 127{rest}"
        yield f"  {part}.{operand}.flipped = xor i128 {value}, {part}.{operand}.sign{rest}"
        yield f"  {part}.{operand} = sub i128 {part}.{operand}.flipped, {part}.{operand}.sign{rest}"
    yield f"  {part}.size = call spir_func i128 @{_FUNCTION}(i128 {part}.a, i128 {part}.b, i1 {wants_remainder}){rest}"
    sign = f"{part}.a.sign"
    if match["what"] == "div":
        sign = f"{part}.sign"
        yield f"  {sign} = xor i128 {part}.a.sign, {part}.b.sign{rest}"
    yield f"  {part}.flipped = xor i128 {part}.size, {sign}{rest}"
    yield f"  {match['result']} = sub i128 {part}.flipped, {sign}{rest}"
