"""Inline assembly as far as passes have to know it: what it changes, and whether it is a thread's own calculation."""

from __future__ import annotations

import re
from collections.abc import Iterator
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
# A register of the machine: which thread this is, or what time it is. One sign will do, though two are right beside operands.
_MACHINE = re.compile(r"%(?:%|[A-Za-z_])")
_COMMENT = re.compile(r"//[^\n]*?(?=\\n|$)|/\*.*?\*/")
_INSTRUCTION = re.compile(r"(?:@!?[%\w\[\]]+\s+)?([a-z]\w*)(?:\.[\w:]+)*(?:\s.*)?", re.DOTALL)


def is_own_calculation(assembly: Node) -> bool:
    text = "".join(text_of(literal) for literal in of_kind(field(assembly, "assembly_code"), "string_content", "escape_sequence"))
    if _MACHINE.search(text):
        return False
    code = re.sub(r"\\[nrt]", " ", _COMMENT.sub(" ", text)).strip()
    code = code[1:-1] if code.startswith("{") and code.endswith("}") else code
    lines = [line.strip() for line in code.split(";")]
    found = [_INSTRUCTION.fullmatch(line) for line in lines if line and not line.startswith(".reg ")]
    return bool(found) and all(match is not None and match[1] in _CALCULATIONS for match in found)


def outputs(assembly: Node) -> Iterator[Node]:
    """The expressions that it assigns to."""
    return (field(operand, "value") for operand in of_kind(assembly, "gnu_asm_output_operand"))


def inputs(assembly: Node) -> Iterator[Node]:
    return (field(operand, "value") for operand in of_kind(assembly, "gnu_asm_input_operand"))
