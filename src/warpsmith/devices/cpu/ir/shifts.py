"""Gives oversized shifts the GPU's meaning: all bits are shifted out. There `(1u << 32) - 1` is all ones, and code relies on
it.

The processor's scalar shifts take the amount modulo the width; the compiler may assume that it never happens.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from warpsmith.devices.cpu.ir.module import NAME, Module

_SHIFT = re.compile(
    rf"^  (?P<result>%{NAME}) = (?P<kind>shl|lshr|ashr) (?:(?:nuw|nsw|exact) )*i(?P<bits>32|64) "
    rf"(?P<value>[^ ,]+), (?P<amount>%{NAME})(?P<rest>.*)$"
)
_MASKED = re.compile(rf"^  (%{NAME}) = and i(?:32|64) [^ ,]+, (\d+)")


def saturate_shifts(module: Module) -> None:
    """Changes the module in place. Constant amounts, and those masked below the width, stay unchanged."""
    for name, lines in module.functions.items():
        if any(_SHIFT.match(line) for line in lines):
            module.replace(name, list(_saturated(lines)))


def _saturated(lines: list[str]) -> Iterator[str]:
    masked: dict[str, int] = {}
    for number, line in enumerate(lines):
        if mask := _MASKED.match(line):
            masked[mask[1]] = int(mask[2])
        match = _SHIFT.match(line)
        if match is None or masked.get(match["amount"], int(match["bits"])) < int(match["bits"]):
            yield line
            continue
        bits, amount, rest = match["bits"], match["amount"], match["rest"]
        kind, last = f"i{bits}", int(bits) - 1
        inside, near, shifted = f"%shift.{number}.inside", f"%shift.{number}.amount", f"%shift.{number}.value"
        yield f"  {inside} = icmp ult {kind} {amount}, {bits}{rest}"
        if match["kind"] == "ashr":  # what is shifted in is the sign
            yield f"  {near} = select i1 {inside}, {kind} {amount}, {kind} {last}{rest}"
            yield f"  {match['result']} = ashr {kind} {match['value']}, {near}{rest}"
            continue
        yield f"  {near} = and {kind} {amount}, {last}{rest}"
        yield f"  {shifted} = {match['kind']} {kind} {match['value']}, {near}{rest}"
        yield f"  {match['result']} = select i1 {inside}, {kind} {shifted}, {kind} 0{rest}"
