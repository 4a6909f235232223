"""Parses PTX text: declared registers, and each instruction's guard, dotted name and operands."""

from __future__ import annotations

import re
from dataclasses import dataclass

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_INSTRUCTION = re.compile(
    r"(?:@(?P<negated>!?)(?P<guard>[%\w$\[\]]+)\s+)?(?P<name>[a-z][\w.:]*)(?:\s+(?P<operands>.*))?", re.DOTALL
)
_DECLARATION = re.compile(r"\.reg\s+\.(?P<type>\w+)\s+(?P<names>[^<>]+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Instruction:
    guard: str  # a predicate, or ""
    negated: bool
    name: str
    modifiers: tuple[str, ...]
    operands: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Program:
    registers: dict[str, str]  # name → type
    instructions: tuple[Instruction, ...]


def parsed(text: str) -> Program | None:
    """None for more than a sequence of instructions: labels, nested scopes."""
    text = _COMMENT.sub(" ", text).strip()
    if text.startswith("{") and text.endswith("}") and not _is_vector(text):
        text = text[1:-1]
    registers: dict[str, str] = {}
    instructions: list[Instruction] = []
    for line in filter(None, (part.strip() for part in text.split(";"))):
        if declaration := _DECLARATION.fullmatch(line):
            registers |= dict.fromkeys((name.strip() for name in declaration["names"].split(",")), declaration["type"])
        elif match := _INSTRUCTION.fullmatch(line):
            name, *modifiers = match["name"].split(".")
            operands = tuple(part.strip() for part in _split(match["operands"] or ""))
            instructions.append(Instruction(match["guard"] or "", bool(match["negated"]), name, tuple(modifiers), operands))
        else:
            return None
    return Program(registers, tuple(instructions))


def _is_vector(text: str) -> bool:
    return ";" not in text


def _split(operands: str) -> list[str]:
    """Splits at commas outside braces."""
    return re.split(r",(?![^{]*\})", operands) if operands else []
