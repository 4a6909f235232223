"""Inline assembly as far as passes have to know it: what it changes, and how much it has to do with other threads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import TYPE_CHECKING

from warpsmith.source.tree import field, of_kind, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

# They read registers and write registers: no memory, no other thread, nobody's number.
_CALCULATIONS = frozenset({
    "add", "sub", "mul", "mul24", "mad", "mad24", "fma", "div", "rem", "min", "max", "abs", "neg", "copysign", "rcp", "sqrt",
    "rsqrt", "ex2", "lg2", "sin", "cos", "tanh", "and", "or", "xor", "not", "shl", "shr", "shf", "lop3", "prmt", "bfe", "bfi",
    "bfind", "brev", "popc", "clz", "sad", "dp2a", "dp4a", "set", "setp", "selp", "slct", "cvt", "mov",
})  # fmt: skip
# Loads that nobody writes to meanwhile, stores and hints, each as plain as an operator's; and when the next launch may begin.
_PLAIN = re.compile(
    r"(?:ld(?=[\w.:]*\.nc\b)|st)(?=[\w.:]*\.global\b)"
    r"(?:\.(?:weak|global|nc|c[ags]|lu|w[bt]|L[12]::\w+|v[248]|[busf](?:8|16|32|64|128)))+"
    r"|prefetchu?(?:\.[\w:]+)+|griddepcontrol\.\w+"
)
# A register of the machine: which thread this is, or what time it is. One sign will do, though two are right beside operands.
_MACHINE = re.compile(r"%(?:%|[A-Za-z_])")
_LANE = re.compile(r"%%?lane(?:id|mask_[a-z]+)\b")
_COMMENT = re.compile(r"//[^\n]*?(?=\\n|$)|/\*.*?\*/")
_INSTRUCTION = re.compile(r"(?:@!?[%\w\[\]]+\s+)?(([a-z]\w*)(?:\.[\w:]+)*)(?:\s+(.*))?", re.DOTALL)
_COMMA = re.compile(r",(?![^{\[]*[}\]])")  # not inside the brackets of a vector or an address


class Assembly(StrEnum):
    OWN = "own"  # a thread calculates with its own registers
    LANE = "lane"  # the same, with the thread's place in its warp
    MEMORY = "memory"  # device memory is read or written as C++ would
    OTHER = "other"


def kind_of(assembly: Node) -> Assembly:
    text = _code(assembly)
    without_lane = _LANE.sub("%0", text)
    if _MACHINE.search(without_lane):
        return Assembly.OTHER
    known = _matched(text)
    if not known:
        return Assembly.OTHER
    if all(match[2] in _CALCULATIONS for match in known):
        return Assembly.OWN if text == without_lane else Assembly.LANE
    plain = all(match[2] in _CALCULATIONS or _PLAIN.fullmatch(match[1]) for match in known)
    return Assembly.MEMORY if plain and text == without_lane else Assembly.OTHER


def instructions(assembly: Node) -> list[tuple[str, list[str]]] | None:
    """Each with its operands; None where one has a condition, or is not understood."""
    known = _matched(_code(assembly))
    if not known or any(match[0].startswith("@") for match in known):
        return None
    return [(match[1], [part.strip() for part in _COMMA.split(match[3] or "")]) for match in known]


def _code(assembly: Node) -> str:
    return "".join(text_of(literal) for literal in of_kind(field(assembly, "assembly_code"), "string_content", "escape_sequence"))


def _matched(text: str) -> list[re.Match[str]]:
    """The instructions; none where there is one that does not look like any."""
    code = re.sub(r"\\[nrt]", " ", _COMMENT.sub(" ", text)).strip()
    code = code[1:-1] if code.startswith("{") and code.endswith("}") else code
    lines = [line.strip() for line in code.split(";")]
    found = [_INSTRUCTION.fullmatch(line) for line in lines if line and not line.startswith(".reg ")]
    known = [match for match in found if match is not None]
    return known if len(known) == len(found) else []


def outputs(assembly: Node) -> Iterator[Node]:
    """The expressions that it assigns to."""
    return (field(operand, "value") for operand in of_kind(assembly, "gnu_asm_output_operand"))


def inputs(assembly: Node) -> Iterator[Node]:
    return (field(operand, "value") for operand in of_kind(assembly, "gnu_asm_input_operand"))
