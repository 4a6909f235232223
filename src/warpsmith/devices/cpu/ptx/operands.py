"""Registers, immediates and machine registers of PTX as C++ expressions of a type."""

from __future__ import annotations

import re

TYPES = {
    **{
        f"{letter}{bits}": f"unsigned {name}"
        for letter in "bu"
        for bits, name in ((8, "char"), (16, "short"), (32, "int"), (64, "long"))
    },
    "s8": "signed char",
    "s16": "short",
    "s32": "int",
    "s64": "long",
    "f32": "float",
    "f64": "double",
    "f16": "__half",
    "bf16": "__nv_bfloat16",
    "f16x2": "__half2",
    "bf16x2": "__nv_bfloat162",
}
SMALL_FLOATS = frozenset({"f16", "bf16", "f16x2", "bf16x2", "e4m3x2", "e5m2x2"})
_NAME = re.compile(r"[A-Za-z_$%][\w$%]*|%\d+|%\[\w+\]")
_INTEGER = re.compile(r"-?(?:0[xX][0-9a-fA-F]+|\d+)[uU]?")
_DECIMAL = re.compile(r"-?\d+\.\d*(?:[eE][+-]?\d+)?")
_BITS = re.compile(r"0[fF](?P<single>[0-9a-fA-F]{8})|0[dD](?P<double>[0-9a-fA-F]{16})")
_MACHINE = {
    "laneid": "(unsigned int)__warpsmith::lane_id()",
    **{
        f"{ptx}.{axis}": f"{cuda}.{axis}"
        for ptx, cuda in (("tid", "threadIdx"), ("ntid", "blockDim"), ("ctaid", "blockIdx"), ("nctaid", "gridDim"))
        for axis in "xyz"
    },
}


class UnknownPtxError(Exception):
    """PTX without a translation; its text is the instruction, if there is one."""


class Registers:
    def __init__(self) -> None:
        self._variables: dict[str, str] = {}
        self.uses_small_floats = False

    def add_operand(self, number: int, name: str) -> str:
        variable = f"__ptx{number}"
        self._variables[f"%{number}"] = variable
        if name:
            self._variables[f"%[{name}]"] = variable
        return variable

    def add(self, name: str) -> str:
        variable = "__ptx_" + re.sub(r"\W", "_", name)
        self._variables[name] = variable
        return variable

    def variable(self, name: str) -> str:
        """As an assignment target, or a predicate."""
        if name not in self._variables:
            raise UnknownPtxError
        return self._variables[name]

    def type(self, name: str) -> str:
        self.uses_small_floats |= name in SMALL_FLOATS
        if name not in TYPES:
            raise UnknownPtxError
        return TYPES[name]

    def read(self, operand: str, kind: str) -> str:
        """As a value of PTX's type."""
        to = self.type(kind)
        if operand in self._variables:
            return f"__warpsmith::ptx::as<{to}>({self._variables[operand]})"
        if (machine := _MACHINE.get(operand.lstrip("%"))) and operand.startswith("%"):
            return f"({to}){machine}"
        if bits := _BITS.fullmatch(operand):
            literal = f"0x{bits['single']}u" if bits["single"] else f"0x{bits['double']}ul"
            return f"__warpsmith::ptx::as<{to}>({literal})"
        if _INTEGER.fullmatch(operand):
            return f"__warpsmith::ptx::as<{to}>({operand.rstrip('uU')}l)"
        if _DECIMAL.fullmatch(operand) and kind in {"f32", "f64"}:
            return f"({to}){operand}"
        raise UnknownPtxError

    def write(self, operand: str, value: str) -> str:
        variable = self.variable(operand)
        return f"__warpsmith::ptx::put({variable}, {value});"


def is_literal(operand: str, value: int) -> bool:
    return _INTEGER.fullmatch(operand) is not None and int(operand.rstrip("uU"), 0) == value
