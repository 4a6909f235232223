"""Parses operands as the disassembler writes them: a register, a predicate, a constant, a number, or an address."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, replace
from enum import StrEnum

RZ = 255
UNIFORM = 256  # uniform registers come after those of threads
URZ = UNIFORM + 63
REGISTERS = UNIFORM + 64
PT = 7
UNIFORM_PREDICATES = 8
PREDICATES = 16


class Form(StrEnum):
    REGISTER = "register"
    PREDICATE = "predicate"
    NUMBER = "number"
    FLOAT = "float"
    CONSTANT = "constant"
    ADDRESS = "address"
    OTHER = "other"  # a special register, a barrier of the branch unit


@dataclass(frozen=True, slots=True)
class Operand:
    """`index` is a register's or predicate's number; of a constant and an address that of the register added, RZ without one.

    `value` is a number, or what is added to an address; `uniform` is a second register added to an address.
    """

    form: Form
    index: int = RZ
    value: int = 0
    bank: int = 0
    uniform: int = URZ
    scale: int = 1
    wide: bool = False
    narrow: bool = False
    wide_uniform: bool = False
    negative: bool = False
    inverted: bool = False
    absolute: bool = False
    text: str = ""
    real: float = 0.0


_REGISTER = re.compile(r"(U?)R(\d+|Z)((?:\.\w+)*)")
_PREDICATE = re.compile(r"(U?)P(\d|T)")
_CONSTANT = re.compile(r"cx?\[(?:0x([0-9a-f]+)|UR\d+)\]\[(?:(U?R(?:\d+|Z))(?:\.\w+)?)?\+?(?:(-?0x[0-9a-f]+))?\]")
_INTEGER = re.compile(r"-?0x[0-9a-f]+")
_ADDRESS = re.compile(r"(?:desc\[UR\d+\])?\[(.*)\]")
_SCALE = re.compile(r"\.X(\d+)")
_FLOAT = re.compile(r"[-+]?(?:\d+(?:\.\d+)?(?:e[-+]?\d+)?|INF|QNAN|SNAN)", re.IGNORECASE)


def parse_operand(text: str) -> Operand:
    body, negative, inverted, absolute = text, False, False, False
    if body[:1] in "-~!" and (body[1:2] in "RUPc|"):
        negative, inverted = body[0] == "-", body[0] != "-"
        body = body[1:]
    if body.startswith("|"):
        absolute, body = True, body.replace("|", "", 2)
    return replace(_unsigned(body), negative=negative, inverted=inverted, absolute=absolute)


def _unsigned(text: str) -> Operand:
    found = Operand(Form.OTHER, text=text)
    if match := _REGISTER.fullmatch(text):
        found = Operand(Form.REGISTER, _register(match[1], match[2]), wide=".64" in match[3], text=match[3])
    elif match := _PREDICATE.fullmatch(text):
        number = PT if match[2] == "T" else int(match[2])
        found = Operand(Form.PREDICATE, number + (UNIFORM_PREDICATES if match[1] else 0))
    elif match := _CONSTANT.match(text):
        if match[1] is not None:
            index = _register_of(match[2]) if match[2] else RZ
            found = Operand(Form.CONSTANT, index, int(match[3] or "0", 16), bank=int(match[1], 16))
    elif _INTEGER.fullmatch(text):
        found = Operand(Form.NUMBER, value=int(text, 16))
    elif match := _ADDRESS.fullmatch(text):
        found = _address(match[1])
    elif _FLOAT.fullmatch(text):
        real = float(text.lower().replace("qnan", "nan").replace("snan", "nan"))
        bits = struct.unpack("<I", struct.pack("<f", _as_single(real)))[0]
        found = Operand(Form.FLOAT, value=bits, real=real)
    return found


def _as_single(real: float) -> float:
    return real if abs(real) < 3.4e38 or real != real else float("inf") * (1 if real > 0 else -1)  # noqa: PLR0124 - not a number


def _address(text: str) -> Operand:
    index, uniform, value, scale = RZ, URZ, 0, 1
    wide = narrow = wide_uniform = False
    for part in text.split("+"):
        if match := _REGISTER.fullmatch(part):
            if match[1]:
                uniform = _register("U", match[2])
                wide_uniform = ".64" in match[3]
            else:
                index = _register("", match[2])
                wide, narrow = ".64" in match[3], ".U32" in match[3]
                if scaled := _SCALE.search(match[3]):
                    scale = int(scaled[1])
        elif part:
            value += int(part, 16)
    return Operand(Form.ADDRESS, index, value, uniform=uniform, scale=scale, wide=wide, narrow=narrow, wide_uniform=wide_uniform)


def _register_of(text: str) -> int:
    match = _REGISTER.fullmatch(text)
    assert match is not None
    return _register(match[1], match[2])


def _register(uniform: str, number: str) -> int:
    if number == "Z":
        return URZ if uniform else RZ
    return int(number) + (UNIFORM if uniform else 0)
