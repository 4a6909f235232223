"""Initialises a thread's own variables with a host-chosen pattern, so that uses of uninitialised ones show in the outputs.

Scalars and small arrays and structures are filled by element, so that the runtime can still keep them in registers; stores to
variables that are initialised before they are read are dead and removed. Pointers and large variables are not filled.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from warpsmith.devices.cpu.ir.function import Instruction
from warpsmith.devices.cpu.ir.module import NAME, Module
from warpsmith.devices.cpu.ir.points_to import operands
from warpsmith.devices.cpu.watch import hooks

_TYPE = re.compile(rf"^(%{NAME}) = type (.*)$")
_SEQUENCE = re.compile(r"^[\[<](\d+) x (.*)[\]>]$")
_STRUCTURE = re.compile(r"^<?\{ ?(.*?) ?\}>?$")
_ALLOCATED = re.compile(r"^alloca (?:inalloca )?(.*)$")
_COPY_OF_PARAMETER = re.compile(r"(?:\.addr|\.indirect_addr|^%this)(?:\.i\d*)*$")
_BITS = {"i8": 8, "i16": 16, "i32": 32, "i64": 64, "half": 16, "bfloat": 16, "float": 32, "double": 64}
_MOST_ELEMENTS = 256
_Path = tuple[int, ...]


def type_names(module: Module) -> dict[str, str]:
    """Members of structures, by type name."""
    lines = (lines[0] for _, lines in module.pieces)
    return {match[1]: match[2] for match in map(_TYPE.match, lines) if match}


class Fills:
    """`value` adds an instruction to the code and returns its result's name. `names` are the filled variables, in order."""

    def __init__(self, types: Mapping[str, str], code: list[str], value: Callable[[str], str]) -> None:
        self._types = types
        self._code = code
        self._value = value
        self.names: list[str] = []

    def fill(self, allocas: Iterable[Instruction]) -> None:
        wanted = [(a, kind, leaves) for a in allocas for kind, leaves in [self._leaves_of(a)] if leaves]
        if not wanted:
            return
        settings = [self._value(f"call spir_func i64 @{hooks.FILL}(i32 {which})") for which in range(4)]
        for alloca, kind, leaves in wanted:
            assert alloca.result is not None
            pattern = self._pattern(hooks.MAX_SHARED + len(self.names), *settings)
            self.names.append(alloca.result)
            known: dict[str, str] = {}
            for path, scalar in leaves:
                if scalar not in known:
                    known[scalar] = self._as(scalar, pattern)
                place = alloca.result
                if path:
                    indices = "".join(f", i32 {index}" for index in (0, *path))
                    place = self._value(f"getelementptr {kind}, ptr {alloca.result}{indices}")
                self._code.append(f"  store {scalar} {known[scalar]}, ptr {place}, align 1")

    def _pattern(self, number: int, fill: str, other: str, begin: str, end: str) -> str:
        """Emitted inline, because unused code is removed again."""
        behind, before = self._value(f"icmp ule i64 {begin}, {number}"), self._value(f"icmp ugt i64 {end}, {number}")
        return self._value(f"select i1 {self._value(f'and i1 {behind}, {before}')}, i64 {fill}, i64 {other}")

    def _leaves_of(self, alloca: Instruction) -> tuple[str, list[tuple[_Path, str]]]:
        match = _ALLOCATED.match(alloca.body)
        parts = operands(match[1]) if match else ()
        if alloca.result is None or not parts or any(part[0] == "i" for part in parts[1:]):
            return "", []  # an array of a length that only the launch knows
        if _COPY_OF_PARAMETER.search(alloca.result):
            return "", []
        found: list[tuple[_Path, str]] = []
        return parts[0], found if self._collect(parts[0], (), found) else []

    def _collect(self, kind: str, path: _Path, found: list[tuple[_Path, str]]) -> bool:
        """Whether all of it can be filled; pointers and unknown types are left out."""
        kind = self._types.get(kind, kind)
        if kind in _BITS:
            found.append((path, kind))
        elif (sequence := _SEQUENCE.match(kind)) is not None:
            for index in range(int(sequence[1])):
                if len(found) > _MOST_ELEMENTS or not self._collect(sequence[2], (*path, index), found):
                    return False
        elif (structure := _STRUCTURE.match(kind)) is not None and structure[1]:
            return all(self._collect(member, (*path, index), found) for index, member in enumerate(operands(structure[1])))
        return len(found) <= _MOST_ELEMENTS

    def _as(self, scalar: str, pattern: str) -> str:
        bits = _BITS[scalar]
        number = pattern if bits == 64 else self._value(f"trunc i64 {pattern} to i{bits}")
        return number if scalar[0] == "i" else self._value(f"bitcast i{bits} {number} to {scalar}")
