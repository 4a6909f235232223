"""Adds a kernel that resets a module's global variables to their initial values.

They outlive a launch. A kernel that relies on that (a counter that the last block resets) still works; one that caches a result
there finds none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from warpsmith.devices.cpu.ir.module import NAME, Module

RESET = "__warpsmith_reset"

_VARIABLE = re.compile(
    rf"^@(?P<name>{NAME}) = (?P<linkage>[a-z_ ]*)addrspace\(1\) (?:externally_initialized )?global (?P<rest>.*)$"
)
_ALIGNMENT = re.compile(r", align (\d+)")
_OURS = "__warpsmith_"
_PAIRS = {"[": "]", "{": "}", "<": ">"}


@dataclass(frozen=True, slots=True)
class _Variable:
    name: str
    type: str
    value: str  # with what follows: alignment
    alignment: int


def add_reset(module: Module) -> bool:
    """Whether it has such variables, and therefore now has the kernel."""
    variables = [v for name, lines in module.pieces if name is not None and (v := _variable(lines[0])) is not None]
    if not variables:
        return False
    for variable in variables:
        copy = f"@{_first(variable)} = internal addrspace(1) constant {variable.type} {variable.value}"
        module.pieces.append((_first(variable).strip('"'), [copy]))
    body = [line for number, variable in enumerate(variables) for line in _copying(variable, number)]
    end = [f"s{len(variables)}:", "  ret void", "}"]
    module.pieces.append((RESET, [f"define spir_kernel void @{RESET}() {{", "entry:", "  br label %s0", *body, *end]))
    return True


def _variable(line: str) -> _Variable | None:
    match = _VARIABLE.match(line)
    if match is None or match["name"].strip('"').startswith(_OURS) or "external " in f"{match['linkage']} ":
        return None
    kind, value = _split(match["rest"])
    alignment = _ALIGNMENT.search(value)
    return _Variable(match["name"], kind, value.partition(", !dbg")[0], int(alignment[1]) if alignment else 1)


def _split(text: str) -> tuple[str, str]:
    """A type, and the text after it."""
    if text[0] not in _PAIRS:
        kind, _, value = text.partition(" ")
        return kind, value
    depth = 0
    for place, sign in enumerate(text):
        depth += (sign in _PAIRS) - (sign in _PAIRS.values())
        if depth == 0:
            return text[: place + 1], text[place + 2 :]
    raise ValueError(f"no type: {text}")


def _first(variable: _Variable) -> str:
    return f'"{variable.name.strip(chr(34))}.first"'


def _copying(variable: _Variable, n: int) -> list[str]:
    """A loop, which the runtime turns into memcpy or memset. Sizes are multiples of alignments."""
    word = min(variable.alignment, 4)
    pointer = "ptr addrspace(1)"
    return [
        f"s{n}:",
        f"  %stop{n} = getelementptr {variable.type}, {pointer} @{variable.name}, i64 1",
        f"  %end{n} = ptrtoint {pointer} %stop{n} to i64",
        f"  br label %l{n}",
        f"l{n}:",
        f"  %to{n} = phi {pointer} [ @{variable.name}, %s{n} ], [ %nextto{n}, %l{n} ]",
        f"  %from{n} = phi {pointer} [ @{_first(variable)}, %s{n} ], [ %nextfrom{n}, %l{n} ]",
        f"  %v{n} = load i{8 * word}, {pointer} %from{n}, align {word}",
        f"  store i{8 * word} %v{n}, {pointer} %to{n}, align {word}",
        f"  %nextto{n} = getelementptr i8, {pointer} %to{n}, i64 {word}",
        f"  %nextfrom{n} = getelementptr i8, {pointer} %from{n}, i64 {word}",
        f"  %at{n} = ptrtoint {pointer} %nextto{n} to i64",
        f"  %over{n} = icmp eq i64 %at{n}, %end{n}",
        f"  br i1 %over{n}, label %s{n + 1}, label %l{n}",
    ]
