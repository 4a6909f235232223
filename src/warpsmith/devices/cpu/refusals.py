"""Refuses unsupported features in one kernel's IR, with their line: assembly, allocation, recursion, calls through pointers,
and undefined functions.

Only code that the kernel can reach is checked. `diagnostics` handles what already fails in clang (tensor cores, textures).
"""

from __future__ import annotations

import re
from pathlib import Path

from warpsmith.core.errors import UnsupportedFeature
from warpsmith.devices.cpu import clang
from warpsmith.devices.cpu.assembly import marked
from warpsmith.devices.cpu.diagnostics import plain_name, unsupported_feature
from warpsmith.devices.cpu.entry import GENERATED_FILE
from warpsmith.devices.cpu.ir.module import NAME, SYMBOL, Module, SourceLine

_ASM = re.compile(r'\bcall\b.* asm (?:\w+ )*"')  # what a macro brought in
_ALLOCATION = re.compile(r"\bcall\b.* @_Zn[wa][jm]\w*\(")  # operator new
_DIRECT_CALL = re.compile(rf"@{NAME}\(")
_DECLARED = re.compile(rf"^declare .*@({NAME})\(")
# Clang's own, the prelude's, OpenCL's and ours. The runtime resolves other undefined functions in its own process: a kernel
# could call any C library function.
_THERE = re.compile(r"llvm\.|_Z\d|__warpsmith_|printf$")
_GENERATED = (str(clang.INCLUDE), GENERATED_FILE, "<")


def users_line(module: Module, instruction: str) -> SourceLine | None:
    return module.source_line(instruction, _GENERATED)


def refuse(module: Module, source_file: Path) -> None:
    """Raises UnsupportedFeature."""
    _refuse_assembly(module, source_file)
    _refuse_allocation(module, source_file)
    _refuse_undefined(module, source_file)
    _refuse_indirect_calls(module, source_file)
    _refuse_recursion(module, source_file)


def unsupported(feature: str, hint: str, module: Module, instruction: str, source_file: Path) -> UnsupportedFeature:
    place = users_line(module, instruction) or SourceLine(str(source_file), 1)
    return unsupported_feature(feature, place.file, place.line, hint)


def _refuse_assembly(module: Module, source_file: Path) -> None:
    for lines in module.functions.values():
        for line in lines:
            name = marked(line)
            if name is not None or _ASM.search(line):
                feature = f"the instruction {name} of inline PTX (asm)" if name else "inline PTX (asm)"
                hint = "use the intrinsic instead, or run it on a GPU device"
                raise unsupported(feature, hint, module, line, source_file)


def _refuse_allocation(module: Module, source_file: Path) -> None:
    for lines in module.functions.values():
        for line in lines:
            if _ALLOCATION.search(line):
                hint = "pass a buffer to the kernel instead"
                raise unsupported("allocation inside a kernel", hint, module, line, source_file)


def _refuse_undefined(module: Module, source_file: Path) -> None:
    declared = {match[1] for _, lines in module.pieces if (match := _DECLARED.match(lines[0]))}
    undefined = {name for name in declared if not _THERE.match(name.strip('"'))}
    for lines in module.functions.values() if undefined else ():
        for line in lines:
            if " call " in line and (names := undefined.intersection(SYMBOL.findall(line))):
                feature = f"a call of {plain_name(min(names))}, which is declared and defined nowhere"
                raise unsupported(feature, "include the file that defines it", module, line, source_file)


def _refuse_indirect_calls(module: Module, source_file: Path) -> None:
    for lines in module.functions.values():
        for line in lines:
            if " call " in line and not _DIRECT_CALL.search(line):
                feature = "calls through function pointers or virtual functions"
                raise unsupported(feature, "pass the function as a template parameter", module, line, source_file)


def _refuse_recursion(module: Module, source_file: Path) -> None:
    calls = {
        name: {callee: line for line in lines if " call " in line for callee in SYMBOL.findall(line)}
        for name, lines in module.functions.items()
    }
    for name, callees in calls.items():
        reached: set[str] = set()
        pending = list(callees)
        while pending:
            callee = pending.pop()
            if callee == name:
                raise unsupported("recursion", "write it as a loop", module, next(iter(callees.values())), source_file)
            if callee in calls and callee not in reached:
                reached.add(callee)
                pending += calls[callee]
