"""Warnings of `warpsmith check` for valid but suspicious entries: an OpenCL global size used as grid, integers too wide."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from warpsmith.core.hardware import Language
from warpsmith.spec.cpp_types import cpp_type
from warpsmith.spec.declarations import Declarations, KernelDeclaration
from warpsmith.spec.document import read_source
from warpsmith.spec.kernel import Buffer, Scalar

if TYPE_CHECKING:
    from warpsmith.spec.kernel import Kernel


def argument_notes(kernel: Kernel) -> list[str]:
    """One for each integer that is wider than the kernel's parameter, which gets the lower bytes."""
    declared = _declared(kernel)
    if declared is None:
        return []
    found = []
    for parameter, argument in zip((p for p in declared.parameters if not p.is_local), kernel.arguments, strict=False):
        if isinstance(argument, Buffer) or parameter.depth or argument.dtype.is_float:
            continue
        known = cpp_type(parameter.type, kernel.language, dict.fromkeys(kernel.defines))
        if known is not None and known.lanes == 1 and not known.dtype.is_float and argument.dtype.itemsize > known.dtype.itemsize:
            given = f"{argument.name!r} is {argument.dtype.value}, but the kernel has `{parameter.text}`"
            found.append(f"{given}: it gets the lower {known.dtype.itemsize} bytes; {known.dtype.value}?")
    return found


def _declared(kernel: Kernel) -> KernelDeclaration | None:
    """The kernel's only declaration in its own file; None if there are several, or it is a template."""
    if not kernel.source.is_file():
        return None
    declared = [k for k in Declarations(read_source(kernel.source), kernel.language).kernels if k.plain_name == kernel.entry]
    return declared[0] if len(declared) == 1 else None


def launch_notes(kernel: Kernel) -> list[str]:
    """One for each axis with as many work-groups as a work-item's index is bounded by."""
    declared = _declared(kernel) if kernel.language is Language.OPENCL else None
    if declared is None:
        return []
    parameters = [p for p in declared.parameters if not p.is_local]
    counts = {
        parameter.name: argument.value.text
        for parameter, argument in zip(parameters, kernel.arguments, strict=False)
        if isinstance(argument, Scalar)
    }
    found = []
    for number, (grid, block) in enumerate(zip(kernel.launch.grid, kernel.launch.block, strict=False)):
        bounds = [name for name, value in counts.items() if value == grid.text]
        if block.text != "1" and any(_is_bound(name, number, declared.body_text) for name in bounds):
            items = f"{grid.text} work-groups of {block.text} work-items"
            meant = f"ceildiv({grid.text}, {block.text})"
            found.append(f"grid.{'xyz'[number]} = {items}: grid counts work-groups (global size / local size); {meant}?")
    return found


def _is_bound(name: str, axis: int, body: str) -> bool:
    """Whether a work-item's index along the axis is compared with it."""
    place = rf"get_global_id\s*\(\s*{axis}u?\s*\)"
    places = [place, *re.findall(rf"\b(\w+)\s*=\s*(?:\(\s*\w+\s*\)\s*)?{place}\s*[;,]", body)]
    return any(re.search(rf"\b{at}\s*(?:<|>=)\s*(?:\(\s*\w+\s*\)\s*)?{name}\b", body) for at in places)
