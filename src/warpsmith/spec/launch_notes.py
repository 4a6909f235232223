"""What `warpsmith check` has to say of a launch that is allowed and hardly meant: OpenCL's global size in the place of a grid."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from warpsmith.core.hardware import Language
from warpsmith.spec.declarations import Declarations
from warpsmith.spec.document import read_source
from warpsmith.spec.kernel import Scalar

if TYPE_CHECKING:
    from warpsmith.spec.kernel import Kernel


def launch_notes(kernel: Kernel) -> list[str]:
    """One for each axis with a work-group for every element that a work-item is compared with the number of."""
    if kernel.language is not Language.OPENCL or not kernel.source.is_file():
        return []
    declared = [k for k in Declarations(read_source(kernel.source), kernel.language).kernels if k.plain_name == kernel.entry]
    if len(declared) != 1:
        return []
    parameters = [p for p in declared[0].parameters if not p.is_local]
    counts = {
        parameter.name: argument.value.text
        for parameter, argument in zip(parameters, kernel.arguments, strict=False)
        if isinstance(argument, Scalar)
    }
    found = []
    for number, (grid, block) in enumerate(zip(kernel.launch.grid, kernel.launch.block, strict=False)):
        bounds = [name for name, value in counts.items() if value == grid.text]
        if block.text != "1" and any(_is_bound(name, number, declared[0].body_text) for name in bounds):
            items = f"{grid.text} work-groups of {block.text} work-items"
            meant = f"ceildiv({grid.text}, {block.text})"
            found.append(f"grid.{'xyz'[number]} = {items}: grid counts work-groups (global size / local size); {meant}?")
    return found


def _is_bound(name: str, axis: int, body: str) -> bool:
    """Whether the place of a work-item along the axis is compared with it."""
    place = rf"get_global_id\s*\(\s*{axis}u?\s*\)"
    places = [place, *re.findall(rf"\b(\w+)\s*=\s*(?:\(\s*\w+\s*\)\s*)?{place}\s*[;,]", body)]
    return any(re.search(rf"\b{at}\s*(?:<|>=)\s*(?:\(\s*\w+\s*\)\s*)?{name}\b", body) for at in places)
