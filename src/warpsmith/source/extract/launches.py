"""How the code base itself launches a kernel: a line of its host code for the kernel.toml, where its grid is to be filled in."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from warpsmith.devices._clang.items import text_at
from warpsmith.devices._clang.tokens import Kind, Token, tokenize
from warpsmith.source.extract.declarations import Declaration
from warpsmith.source.extract.flatten import Unit
from warpsmith.source.extract.program import Program
from warpsmith.source.tokens.syntax import split_commas
from warpsmith.spec.host.launches import one_line

_LAUNCHER = re.compile(r"<<<|LaunchKernel|(?:cuda|hip)LaunchKernel\w*|(?:cuda|hip)LaunchCooperativeKernel|hipLaunchKernelGGL")


def launch_of(unit: Unit, program: Program, kernel: Declaration, name: str) -> str | None:
    """`file:line: statement`: a launch in the kernel's file that names it, or one in a function or class that does."""
    home = unit.origin(kernel.start).file
    near: str | None = None
    for declaration in program.declarations:
        tokens = declaration.item.tokens
        is_elsewhere = unit.origin(declaration.start).file != home
        if is_elsewhere or declaration.is_kernel or not any(token.text == name for token in tokens):
            continue
        for index, token in enumerate(tokens):
            if token.kind is Kind.DIRECTIVE or not _LAUNCHER.fullmatch(token.text):
                continue
            statement = _statement(tokens, index)
            shown = f"{_place(unit, token.start)}: {one_line(unit.text[statement[0].start : statement[-1].end])}"
            if any(part.text == name for part in statement):
                return shown
            near = near or shown
    return near or _in_macro(unit, program, name)


def block_of(launch: str, name: str, numbers: Mapping[str, str]) -> list[str] | None:
    """The block's extents in a launch of the kernel's by `<<<…>>>`, where they are numbers or macros that stand for one."""
    match = re.search(rf"\b{re.escape(name)}\b.*?<<<(.*)>>>", launch)
    parts = list(split_commas(list(tokenize(match[1])))) if match else []
    if len(parts) < 2:
        return None
    block = parts[1]
    if text_at(block, 0) == "dim3" and text_at(block, 1) == "(":
        extents = [part[0].text if len(part) == 1 else "" for part in split_commas(block[2:-1])]
    else:
        extents = [block[0].text if len(block) == 1 else ""]
    found = [numbers.get(extent, extent) for extent in extents]
    return found if found and all(extent.isdigit() for extent in found) else None


def _in_macro(unit: Unit, program: Program, name: str) -> str | None:
    for macro in program.macros:
        if match := re.search(rf"\b{re.escape(name)}\b[^;{{}}\"]*?<<<[^;]*?>>>", macro.replacement):
            return f"{_place(unit, macro.start)}: {one_line(match[0])}"
    return None


def _statement(tokens: Sequence[Token], index: int) -> Sequence[Token]:
    """From behind the last `;`, `{` or `}` to the next `;`."""
    first = index
    while first > 0 and tokens[first - 1].text not in {";", "{", "}"}:
        first -= 1
    last = index
    while last < len(tokens) and tokens[last].text != ";":
        last += 1
    return [token for token in tokens[first:last] if token.kind is not Kind.DIRECTIVE]


def _place(unit: Unit, position: int) -> str:
    origin = unit.origin(position)
    return f"{origin.file.name}:{origin.line}"
