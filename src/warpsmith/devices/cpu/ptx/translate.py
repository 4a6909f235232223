"""Translates an `asm` statement to C++: registers become variables that hold bits, instructions calls of prelude functions.

Anything unknown, down to the last modifier, is refused: misread PTX would compute wrong numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from warpsmith.devices.cpu.ptx import arithmetic, memory, program
from warpsmith.devices.cpu.ptx.operands import Registers, UnknownPtxError
from warpsmith.devices.cpu.ptx.program import Instruction
from warpsmith.devices.cpu.ptx.statement import Statement

_STORAGE = {"h": "unsigned short", "r": "unsigned int", "f": "unsigned int", "l": "unsigned long", "d": "unsigned long"}
_FLOATS = {"f": "float", "d": "double"}
_REGISTER = {"16": "unsigned short", "32": "unsigned int", "64": "unsigned long", "16x2": "unsigned int"}
_REGISTER_TYPE = re.compile(r"[busf](16|32|64)|b?f(16)|b?f(16x2)")


# Words in a text that require one of them.
HEADERS = {"warpsmith/ptx.h": "__warpsmith::ptx::", "warpsmith/ptx_small_floats.h": "/* small floats */"}


def translated(statement: Statement) -> str:
    """One statement without its semicolon. Raises UnknownPtxError with the unknown instruction, if it is one."""
    parsed = program.parsed(statement.text)
    if parsed is None:
        raise UnknownPtxError
    registers = Registers()
    code = [
        *_before(statement, registers),
        *(_declared(name, kind, registers) for name, kind in parsed.registers.items()),
        *(_named(instruction, registers) for instruction in parsed.instructions),
        *_after(statement, registers),
    ]
    sign = HEADERS["warpsmith/ptx_small_floats.h"] if registers.uses_small_floats else ""
    return f"do {{ {sign}{' '.join(code)} }} while (0)"


def _before(statement: Statement, registers: Registers) -> Iterator[str]:
    for number, operand in enumerate(statement.operands):
        variable = registers.add_operand(number, operand.name)
        initial = _bits(operand.kind, operand.expression) if operand.is_read else "0"
        yield f"{_STORAGE[operand.kind] if operand.is_written else 'const auto'} {variable} = {initial};"


def _declared(name: str, kind: str, registers: Registers) -> str:
    width = _REGISTER_TYPE.fullmatch(kind)
    if width is None and kind != "pred":
        raise UnknownPtxError
    return f"{_REGISTER[width[width.lastindex or 0]] if width else 'bool'} {registers.add(name)} = 0;"


def _after(statement: Statement, registers: Registers) -> Iterator[str]:
    for number, operand in enumerate(statement.operands):
        if operand.is_written:
            value = registers.variable(f"%{number}")
            if operand.kind in _FLOATS:
                value = f"__warpsmith::ptx::as<{_FLOATS[operand.kind]}>({value})"
            yield f"({operand.expression}) = (__typeof__(({operand.expression})))({value});"


def _bits(kind: str, expression: str) -> str:
    if kind in _FLOATS:
        return f"__warpsmith::bit_cast<{_STORAGE[kind]}>(({_FLOATS[kind]})({expression}))"
    # An address operand stays a pointer: a number would lose its object.
    return f"({expression})" if kind in {"l", "n"} else f"({_STORAGE[kind]})({expression})"


def _named(instruction: Instruction, registers: Registers) -> str:
    try:
        return _guarded(instruction, registers)
    except UnknownPtxError:
        raise UnknownPtxError(".".join((instruction.name, *instruction.modifiers))) from None


def _guarded(instruction: Instruction, registers: Registers) -> str:
    code = _one(instruction, registers)
    if not instruction.guard:
        return code
    return f"if ({'!' if instruction.negated else ''}{registers.variable(instruction.guard)}) {{ {code} }}"


def _one(instruction: Instruction, registers: Registers) -> str:
    handlers = (memory.HANDLERS, arithmetic.HANDLERS)
    handler = next((table[instruction.name] for table in handlers if instruction.name in table), None)
    if handler is None:
        raise UnknownPtxError
    return handler(instruction, registers)
