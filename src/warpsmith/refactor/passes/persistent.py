"""`persistent`: as many blocks as the device can hold, which go on to further work, against one block for each piece of work.

Exposes BLOCKS_PER_UNIT: 0 as it was; else the grid has at most so many blocks for each compute unit. A flat kernel's index then
goes through the elements in steps of the whole grid; a kernel with one block a row goes through the rows.

Precondition: what the end is must be known inside the kernel. For a flat kernel its guard tells; for rows it is an argument that
kernel.toml equates with the grid's extent. Blocks know their place by blockIdx.x only and do not wait for each other.
Constraints: none.
"""

from __future__ import annotations

from dataclasses import replace

from warpsmith.refactor.base import Answer, Concern, Rewrite, Stage, Subject, Tunable
from warpsmith.refactor.mapping.flat import FlatKernel, changeable, element_loop, flat_indices, flat_kernel, reaches_end
from warpsmith.refactor.names import fresh_name
from warpsmith.refactor.preconditions import answered, axis, names_of, on_workloads, present, require, require_readable
from warpsmith.refactor.rows.block_loop import block_loop
from warpsmith.refactor.rows.row_loop import count_argument
from warpsmith.source import Names
from warpsmith.source.threads import all_launch_uses, spelled, teamwork

_VALUES = (1, 2, 4, 8, 16, 32)


class Persistent:
    name = "persistent"
    summary = "persistent blocks: a fixed number that loop over the work, instead of one block per piece of work"
    stage = Stage.RESTRUCTURE
    priority = 40
    concerns = frozenset({Concern.PARALLELISM})

    def apply(self, subject: Subject) -> Answer:
        return answered(subject, lambda: _rewrite(subject))


def _rewrite(subject: Subject) -> Rewrite:
    require_readable(subject)
    names, variant = names_of(subject), subject.variant
    several = {"blockIdx.y", "blockIdx.z", "get_global_id.y", "get_global_id.z"} & all_launch_uses(subject.source, names).keys()
    one = axis(variant.grid, "y") == axis(variant.grid, "z") == "1" and not several
    require(one, "the grid has several dimensions")
    grid = axis(variant.grid, "x")
    most = max(on_workloads(subject, grid))
    values = tuple(v for v in _VALUES if v * subject.limits.compute_units < most)
    require(values, f"the launch has at most {most} blocks: no more than are resident at a time")
    found = next(iter(flat_indices(subject.source.body, names)), None)
    if found is not None:
        flat = flat_kernel(subject, names, *found)
        text, line = _over_elements(subject, names, flat), subject.source.line_of(flat.declaration.node)
    else:
        loop = block_loop(subject, names)
        count = present(count_argument(subject), "no argument is the number of rows, so a block cannot know the last one")
        at = loop.free.take("at")
        text = loop.text(
            ["// The grid may have fewer blocks than there are rows: each goes on with the row that is a grid's width further."],
            f"unsigned int {at} = blockIdx.x; {at} < {count}; {at} += gridDim.x",
            at,
        )
        line = subject.source.line_of(loop.work[0].node)
    name = fresh_name(subject, "BLOCKS_PER_UNIT")
    made = replace(variant, text=text, grid=(f"min({grid}, compute_units * {name})",))
    choice = Tunable(
        name, (0, *values), 0, "0: one block per piece of work · otherwise the maximum number of blocks per compute unit", line
    )
    return Rewrite(variant, choice, dict.fromkeys(values, made))


def _over_elements(subject: Subject, names: Names, flat: FlatKernel) -> str:
    together = teamwork(subject.source)
    require(together.none, f"the kernel {together.described()}: the result may depend on which elements share a block")
    require(reaches_end(subject, names, flat), "cannot prove that the launch covers the guard's range", flat.guard.node)
    i, language = flat.variable, subject.source.language
    limit = subject.source.text_of(flat.guard.limit)
    first = spelled("blockIdx.x * blockDim.x + threadIdx.x", language)
    step = spelled("gridDim.x * blockDim.x", language)
    kind = changeable(flat.type)
    comment = "// The grid may have fewer threads than there are elements: each goes on with the one a grid's width further."
    return element_loop(subject, flat, [comment], f"{kind} {i} = {first}; {i} < {limit}; {i} += {step}")
