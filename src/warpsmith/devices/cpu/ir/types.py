"""The type of an instruction's result, from its text."""

from __future__ import annotations

import re

from warpsmith.devices.cpu.ir.function import Instruction
from warpsmith.devices.cpu.ir.points_to import operands

_FLAGS = re.compile(
    r"^(?:nuw|nsw|exact|disjoint|fast|nnan|ninf|nsz|arcp|contract|afn|reassoc|samesign|nneg|inbounds|nusw|volatile|atomic) "
)
_TYPE = re.compile(r"^(?P<type>ptr addrspace\(\d+\)|ptr|(?:i\d+|half|bfloat|float|double)|<[^>]*>|\{.*?\}|\[[^\]]*\])(?=[ ,]|$)")
_CALL_ATTRIBUTES = re.compile(
    r"^(?:call )?(?:(?:fast|nnan|ninf|nsz|arcp|contract|afn|reassoc|spir_func|noundef|zeroext|signext|range\(.*?\)) )*"
)
_CASTS = frozenset(
    [
        "trunc",
        "zext",
        "sext",
        "fptrunc",
        "fpext",
        "fptoui",
        "fptosi",
        "uitofp",
        "sitofp",
        "ptrtoint",
        "inttoptr",
        "bitcast",
        "addrspacecast",
        "freeze",
        "fneg",
    ]
)


def result_type(instruction: Instruction) -> str | None:
    """None if the text is not enough (aggregates by value)."""
    body = re.sub(r"(?:, ![\w.]+ !\d+)+$", "", instruction.body)
    opcode, _, rest = body.partition(" ")
    while match := _FLAGS.match(rest):
        rest = rest[match.end() :]
    match opcode:
        case "icmp" | "fcmp":
            kind = operands(rest)[0].split(" ", 1)[1]
            return "i1" if not kind.startswith("<") else None
        case "getelementptr":
            return leading_type(operands(rest)[1])
        case "select":
            return leading_type(operands(rest)[1])
        case "call" | "tail":
            text = _CALL_ATTRIBUTES.sub("", rest)
            return leading_type(text)
        case _ if opcode in _CASTS and " to " in rest:
            return rest.rsplit(" to ", 1)[1].strip()
        case _:
            return leading_type(rest)


def leading_type(text: str) -> str | None:
    """Of a written operand: the type comes first."""
    match = _TYPE.match(text)
    return match["type"] if match else None
