"""Arithmetic, logic, comparisons and conversions of PTX."""

from __future__ import annotations

import re
from collections.abc import Callable

from warpsmith.devices.cpu.ptx.operands import Registers, UnknownPtxError
from warpsmith.devices.cpu.ptx.program import Instruction

Handler = Callable[[Instruction, Registers], str]

# Minimum accuracy of a result, always met here. Subnormal numbers are kept with `ftz` too.
_PRECISION = frozenset({"rn", "ftz", "approx", "full"})
_SINGLE = {
    "add": "__fadd_rn", "sub": "__fsub_rn", "mul": "__fmul_rn", "fma": "__fmaf_rn", "mad": "__fmaf_rn", "div": "__fdiv_rn",
    "min": "fminf", "max": "fmaxf", "abs": "fabsf", "neg": "-", "rcp": "__frcp_rn", "sqrt": "__fsqrt_rn", "rsqrt": "rsqrtf",
    "ex2": "exp2f", "lg2": "log2f", "sin": "sinf", "cos": "cosf", "tanh": "tanhf",
}  # fmt: skip
_DOUBLE = {
    "add": "__dadd_rn", "sub": "__dsub_rn", "mul": "__dmul_rn", "fma": "__fma_rn", "mad": "__fma_rn", "div": "__ddiv_rn",
    "min": "fmin", "max": "fmax", "abs": "fabs", "neg": "-", "rcp": "__drcp_rn", "sqrt": "__dsqrt_rn",
}  # fmt: skip
_HALF = {name: f"__h{name}" for name in ("add", "sub", "mul", "fma", "min", "max", "abs", "neg")} | {"ex2": "hexp2"}
_HALVES = {name: f"__h{name}2" for name in ("add", "sub", "mul", "fma", "min", "max", "abs", "neg")} | {"ex2": "h2exp2"}
_FLOATING = {"f32": _SINGLE, "f64": _DOUBLE, "f16": _HALF, "bf16": _HALF, "f16x2": _HALVES, "bf16x2": _HALVES}
_OPERANDS = {"fma": 3, "mad": 3} | dict.fromkeys(("abs", "neg", "rcp", "sqrt", "rsqrt", "ex2", "lg2", "sin", "cos", "tanh"), 1)
_INTEGERS = re.compile(r"[us](?:16|32|64)")
_BITS = re.compile(r"b(?:16|32|64)")
_NUMBERS = re.compile(r"[us](?:8|16|32|64)")
_COMPARED = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "lo": "<", "ls": "<=", "hi": ">", "hs": ">="}
_ROUNDED = {"rni": "__builtin_rint", "rzi": "__builtin_trunc", "rmi": "__builtin_floor", "rpi": "__builtin_ceil"}


def call(name: str, *arguments: str) -> str:
    return f"{name}({', '.join(arguments)})"


def own(name: str, *arguments: str) -> str:
    return call(f"__warpsmith::ptx::{name}", *arguments)


def operands(instruction: Instruction, count: int) -> tuple[str, ...]:
    if len(instruction.operands) != count:
        raise UnknownPtxError
    return instruction.operands


def at_least_one(instruction: Instruction) -> tuple[str, ...]:
    if not instruction.operands:
        raise UnknownPtxError
    return instruction.operands


def _calculation(instruction: Instruction, registers: Registers) -> str:
    kind = instruction.modifiers[-1] if instruction.modifiers else ""
    to, *given = operands(instruction, 1 + _OPERANDS.get(instruction.name, 2))
    values = [registers.read(operand, kind) for operand in given]
    if kind in _FLOATING:
        return registers.write(to, _floating(instruction, kind, values))
    return registers.write(to, _whole(instruction, kind, values))


def _floating(instruction: Instruction, kind: str, values: list[str]) -> str:
    function = _FLOATING[kind].get(instruction.name)
    rest = set(instruction.modifiers[:-1]) - _PRECISION
    if function is None or rest - {"sat"} or (rest and kind != "f32"):
        raise UnknownPtxError
    result = call(function, *values)
    return call("__saturatef", result) if rest else result


def _whole(instruction: Instruction, kind: str, values: list[str]) -> str:
    part = instruction.modifiers[:-1]
    if not _INTEGERS.fullmatch(kind):
        raise UnknownPtxError
    match instruction.name, part:
        case (("add" | "sub" | "min" | "max" | "abs" | "neg" | "div"), ()):
            return own(f"{instruction.name}_", *values)
        case (("mul" | "mad"), ("lo" | "hi" | "wide",)) if not (kind.endswith("64") and part != ("lo",)):
            product = own(f"mul_{part[0]}", *values[:2])
            return product if instruction.name == "mul" else own("plus", product, values[2])
    raise UnknownPtxError


def _mad_wide(instruction: Instruction, registers: Registers) -> str:
    """The addend has twice the width."""
    if "wide" not in instruction.modifiers:
        return _calculation(instruction, registers)
    kind = instruction.modifiers[-1]
    to, a, b, c = operands(instruction, 4)
    if instruction.modifiers[:-1] != ("wide",) or kind not in {"u16", "s16", "u32", "s32"}:
        raise UnknownPtxError
    product = own("mul_wide", registers.read(a, kind), registers.read(b, kind))
    return registers.write(to, own("plus", product, registers.read(c, f"{kind[0]}{2 * int(kind[1:])}")))


def _logic(instruction: Instruction, registers: Registers) -> str:
    kind = ".".join(instruction.modifiers)
    if kind == "pred" and instruction.name in {"and", "or", "xor", "not"}:
        to, *given = map(registers.variable, at_least_one(instruction))
        return f"{to} = {own(f'{instruction.name}_', *given)};"
    signed_shift = instruction.name == "shr" and _INTEGERS.fullmatch(kind)
    if not (_BITS.fullmatch(kind) or signed_shift):
        raise UnknownPtxError
    if instruction.name == "not":
        to, value = operands(instruction, 2)
        return registers.write(to, own("not_", registers.read(value, kind)))
    to, a, b = operands(instruction, 3)
    second = "u32" if instruction.name in {"shl", "shr"} else kind
    return registers.write(to, own(f"{instruction.name}_", registers.read(a, kind), registers.read(b, second)))


def _bits(name: str, kinds: tuple[str, ...], *modifiers: tuple[str, ...]) -> Handler:
    """A prelude function of these operand types, with the first as its result."""

    def handler(instruction: Instruction, registers: Registers) -> str:
        if instruction.modifiers not in modifiers:
            raise UnknownPtxError
        to, *given = operands(instruction, len(kinds))
        values = [registers.read(operand, kind) for operand, kind in zip(given, kinds[1:], strict=True)]
        return registers.write(to, call(name, *values))

    return handler


def _field(instruction: Instruction, registers: Registers) -> str:
    kind = ".".join(instruction.modifiers)
    to, value, start, length = operands(instruction, 4)
    if kind not in {"u32", "s32"}:
        raise UnknownPtxError
    return registers.write(
        to, own("field", registers.read(value, kind), registers.read(start, "u32"), registers.read(length, "u32"))
    )


def _compare(instruction: Instruction, registers: Registers) -> str:
    to, a, b = operands(instruction, 3)
    comparison, *rest, kind = instruction.modifiers if len(instruction.modifiers) > 1 else ("", "")
    if comparison not in _COMPARED or set(rest) - {"ftz"} or kind in {"f16x2", "bf16x2"}:
        raise UnknownPtxError
    left, right = registers.read(a, kind), registers.read(b, kind)
    if comparison == "ne" and kind in _FLOATING:  # false where one is not a number, unlike C++'s
        return f"{registers.variable(to)} = {left} < {right} || {left} > {right};"
    return f"{registers.variable(to)} = {left} {_COMPARED[comparison]} {right};"


def _select(instruction: Instruction, registers: Registers) -> str:
    to, a, b, predicate = operands(instruction, 4)
    kind = ".".join(instruction.modifiers)
    return registers.write(to, f"{registers.variable(predicate)} ? {registers.read(a, kind)} : {registers.read(b, kind)}")


def _convert(instruction: Instruction, registers: Registers) -> str:
    *how, to_kind, from_kind = instruction.modifiers if len(instruction.modifiers) > 1 else ("", "", "")
    rounding = tuple(word for word in how if word != "ftz")
    to, *given = at_least_one(instruction)
    small = {"f16x2", "bf16x2", "e4m3x2", "e5m2x2"} & {to_kind, from_kind}
    registers.uses_small_floats |= bool(small)
    if small:
        return _convert_pair(rounding, (to_kind, from_kind), to, given, registers)
    if len(given) != 1:
        raise UnknownPtxError
    value = registers.read(given[0], from_kind)
    kind = registers.type(to_kind)
    floats = to_kind in _FLOATING, from_kind in _FLOATING
    match floats, rounding:
        case (True, True), () | ("rn",):
            return registers.write(to, f"({kind})({'double' if 'f64' in {to_kind, from_kind} else 'float'}){value}")
        case (True, False), ("rn",) if _NUMBERS.fullmatch(from_kind):
            return registers.write(to, f"({kind}){value}")
        case (False, True), (word, *rest) if word in _ROUNDED and rest in ([], ["sat"]) and _NUMBERS.fullmatch(to_kind):
            rounded = call(_ROUNDED[word], f"(double){value}")
            return registers.write(to, own(f"clamped<{kind}>", rounded))
        case (False, False), ("sat",) if _NUMBERS.fullmatch(to_kind) and _NUMBERS.fullmatch(from_kind):
            return registers.write(to, own(f"nearest<{kind}>", value))
        case (False, False), () if _NUMBERS.fullmatch(to_kind) and _NUMBERS.fullmatch(from_kind):
            return registers.write(to, f"({kind}){value}")
    raise UnknownPtxError


def _convert_pair(rounding: tuple[str, ...], kinds: tuple[str, str], to: str, given: list[str], registers: Registers) -> str:
    """The first of two numbers becomes the upper one."""
    match kinds, rounding:
        case (("f16x2" | "bf16x2") as kind, "f32"), ("rn",) if len(given) == 2:
            one = registers.type(kind.removesuffix("x2"))
            upper, lower = (f"({one}){registers.read(operand, 'f32')}" for operand in given)
            return registers.write(to, f"{registers.type(kind)}({lower}, {upper})")
        case (("e4m3x2" | "e5m2x2") as kind, "f32"), ("rn", "satfinite") if len(given) == 2:
            upper, lower = (registers.read(operand, "f32") for operand in given)
            return registers.write(to, own(f"pair<__warpsmith::{kind.removesuffix('x2')}>", lower, upper))
        case ("f16x2", ("e4m3x2" | "e5m2x2") as kind), ("rn",) if len(given) == 1:
            return registers.write(to, own(f"halves<__warpsmith::{kind.removesuffix('x2')}>", registers.read(given[0], "b16")))
    raise UnknownPtxError


_WORD, _WORDS = ("b32",), ("b32", "b32", "b32", "b32")
HANDLERS: dict[str, Handler] = {
    **dict.fromkeys(("add", "sub", "mul", "fma", "div", "min", "max", "abs", "neg"), _calculation),
    **dict.fromkeys(("rcp", "sqrt", "rsqrt", "ex2", "lg2", "sin", "cos", "tanh"), _calculation),
    **dict.fromkeys(("and", "or", "xor", "not", "shl", "shr"), _logic),
    "mad": _mad_wide,
    "lop3": _bits("__warpsmith::ptx::lop3", (*_WORDS, "u32"), _WORD),
    "prmt": _bits("__byte_perm", _WORDS, _WORD),
    "popc": _bits("__popc", ("b32", "b32"), _WORD),
    "clz": _bits("__clz", ("b32", "b32"), _WORD),
    "brev": _bits("__brev", ("b32", "b32"), _WORD),
    "bfi": _bits("__warpsmith::ptx::inserted", (*_WORDS, "u32"), _WORD),
    "bfe": _field,
    "setp": _compare,
    "selp": _select,
    "cvt": _convert,
}
