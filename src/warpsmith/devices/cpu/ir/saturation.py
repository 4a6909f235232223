"""Writes saturating float-to-integer casts out as comparisons and selections.

On a GPU such a cast saturates and NaN becomes 0; in C++ it is undefined, so clang is told to emit LLVM's saturating intrinsics.
The runtime has no library function for them at 32 lanes (its build fails) and a wrong one for NaN to unsigned at fewer.
"""

from __future__ import annotations

import re
import struct

from warpsmith.devices.cpu.ir.module import Module

_CALL = re.compile(
    r"^\s*(?P<result>%(?P<name>[-\w$.]+)) = (?:tail |notail )?call .*?"
    r"i(?P<bits>\d+) @llvm\.fpto(?P<sign>[su])i\.sat\.i\d+\.f\d+\((?P<type>\w+) (?:\w+ )*?(?P<value>\S+)\)(?P<rest>.*)$"
)
_DECLARATION = "declare "
_INTRINSIC = re.compile(r"@llvm\.fpto[su]i\.sat\.")


def write_out_saturating_casts(module: Module) -> None:
    pieces: list[tuple[str | None, list[str]]] = []
    for name, lines in module.pieces:
        if not any(_INTRINSIC.search(line) for line in lines):
            pieces.append((name, lines))
        elif not lines[0].startswith(_DECLARATION):
            pieces.append((name, [new for line in lines for new in _written_out(line)]))
    module.pieces = pieces


def _written_out(line: str) -> list[str]:
    match = _CALL.match(line)
    if match is None:
        if _INTRINSIC.search(line):
            raise ValueError(f"a saturating cast in a form this pass does not know: {line.strip()}")
        return [line]
    bits, signed = int(match["bits"]), match["sign"] == "s"
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    value, kind, rest = match["value"], match["type"], match["rest"]
    part = f"%sat.{match['name']}"
    new: list[str] = []
    if kind == "half":
        # Its largest number is below most bounds, which half cannot even represent.
        new.append(f"{part}.wide = fpext half {value} to float{rest}")
        value, kind = f"{part}.wide", "float"
    new += [
        f"{part}.over = fcmp oge {kind} {value}, {_constant(float(high + 1))}{rest}",
        f"{part}.under = fcmp ole {kind} {value}, {_constant(float(low))}{rest}",
        f"{part}.nan = fcmp uno {kind} {value}, {_constant(0.0)}{rest}",
        f"{part}.plain = fpto{match['sign']}i {kind} {value} to i{bits}{rest}",
        f"{part}.top = select i1 {part}.over, i{bits} {high}, i{bits} {part}.plain{rest}",
        f"{part}.both = select i1 {part}.under, i{bits} {low}, i{bits} {part}.top{rest}",
        f"{match['result']} = select i1 {part}.nan, i{bits} 0, i{bits} {part}.both{rest}",
    ]
    return [f"  {text}" for text in new]


def _constant(value: float) -> str:
    """LLVM writes both float and double as the bits of a double. All bounds are powers of two, exact in either."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
