"""Parses one `asm` statement: its PTX, and its C++ input and output expressions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from warpsmith.devices._clang.tokens import Kind, Token

_CONSTRAINT = re.compile(r'"(?P<access>[=+]?)&?(?P<kind>[hrlfdn])"')
_RAW = re.compile(r'R"(?P<delimiter>[^(]*)\((?P<text>.*)\)(?P=delimiter)"', re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "", '"': '"', "\\": "\\"}
_OUTPUTS, _INPUTS = 1, 2


@dataclass(frozen=True, slots=True)
class Operand:
    name: str  # as in %[name], or ""
    kind: str  # the letter of its constraint
    is_read: bool
    is_written: bool
    expression: str


@dataclass(frozen=True, slots=True)
class Statement:
    text: str  # PTX, with %0 or %[name] for operands and %% for registers of the machine
    operands: tuple[Operand, ...]


def parsed(tokens: Sequence[Token]) -> Statement | None:
    """Parsed contents of the parentheses; None unless it is a string and its operands."""
    if any(token.kind is Kind.DIRECTIVE for token in tokens):
        return None
    template, *sections = _parts(tokens, ":")
    literals = [_literal(token) for token in template]
    operands: list[Operand] = []
    for number, section in enumerate(sections, start=1):
        if number > _INPUTS:
            break  # clobbers say nothing about values
        for part in _parts(section, ",") if section else ():
            operand = _operand(part)
            if operand is None or operand.is_written != (number == _OUTPUTS):
                return None
            operands.append(operand)
    if None in literals:
        return None
    return Statement("".join(filter(None, literals)), tuple(operands))


def _parts(tokens: Sequence[Token], separator: str) -> Iterator[Sequence[Token]]:
    """Splits at the separator outside brackets. `::` is two empty colons between operands."""
    depth, start = 0, 0
    for index, token in enumerate(tokens):
        depth += token.text in {"(", "[", "{"}
        depth -= token.text in {")", "]", "}"}
        if depth == 0 and (token.text == separator or (separator == ":" and token.text == "::")):
            yield tokens[start:index]
            if token.text == "::":
                yield ()
            start = index + 1
    yield tokens[start:]


def _literal(token: Token) -> str | None:
    if token.kind is not Kind.STRING:
        return None
    if raw := _RAW.fullmatch(token.text):
        return raw["text"]
    if not token.text.startswith('"'):
        return None
    return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[0]), token.text[1:-1])


def _operand(tokens: Sequence[Token]) -> Operand | None:
    """`[name] "=r"(expression)`, usually without the name."""
    texts = [token.text for token in tokens]
    name = ""
    if len(texts) > 2 and texts[0] == "[" and texts[2] == "]":
        name, texts = texts[1], texts[3:]
    constraint = _CONSTRAINT.fullmatch(texts[0]) if texts else None
    if constraint is None or texts[1:2] != ["("] or texts[-1] != ")":
        return None
    access = constraint["access"]
    return Operand(name, constraint["kind"], access != "=", bool(access), " ".join(texts[2:-1]))
