"""A thread's variables as the scalars they consist of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from warpsmith.devices.cpu.ir.function import Function
from warpsmith.devices.cpu.ir.module import NAME, Module
from warpsmith.devices.cpu.ir.points_to import operands

_ALLOCA = re.compile(r"alloca (?P<type>.+?), align")
_SCALAR = re.compile(r"(?:i\d+|half|bfloat|float|double|ptr(?: addrspace\(\d+\))?)$")
_ARRAY = re.compile(r"\[(?P<length>\d+) x (?P<element>.*)\]$")
_STRUCTURE = re.compile(r"<?\{(?P<members>.*)\}>?$")
_NAMED = re.compile(rf"^(?P<name>%{NAME}) = type (?P<type>.*)$")
_MOST_PARTS = 16  # what is larger, and indexed, stays in memory and is read thread by thread


@dataclass(frozen=True, slots=True)
class Part:
    kind: str
    address: str  # the instruction that computes it
    is_member: bool  # of a structure or an array


def parts_of(module: Module, function: Function) -> dict[str, list[Part]]:
    """By variable; vectors and large arrays are left out."""
    named = {match["name"]: match["type"] for _, lines in module.pieces for line in lines if (match := _NAMED.match(line))}
    found: dict[str, list[Part]] = {}
    for i in (i for block in function.blocks.values() for i in block.instructions if i.opcode == "alloca"):
        match = _ALLOCA.match(i.body)
        if match is None or i.result is None:
            continue
        kind = match["type"]
        parts: list[Part] = []
        for path, scalar in _scalars(kind, named):
            indices = "".join(f", i32 {index}" for index in path)
            parts.append(Part(scalar, f"getelementptr inbounds {kind}, ptr {i.result}, i32 0{indices}", bool(path)))
            if len(parts) > _MOST_PARTS:
                break
        if 0 < len(parts) <= _MOST_PARTS:
            found[i.result] = parts
    return found


def _scalars(kind: str, named: dict[str, str]) -> Iterator[tuple[tuple[int, ...], str]]:
    kind = named.get(kind, kind)
    if _SCALAR.match(kind):
        yield (), kind
    elif (match := _ARRAY.match(kind)) and not match["element"].startswith("ptr"):  # those lose their type on the way to SPIR-V
        for index in range(int(match["length"])):
            yield from (((index, *path), scalar) for path, scalar in _scalars(match["element"], named))
    elif match := _STRUCTURE.match(kind):
        for index, member in enumerate(operands(match["members"].strip())):
            yield from (((index, *path), scalar) for path, scalar in _scalars(member, named))
