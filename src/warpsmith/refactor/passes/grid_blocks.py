"""The number of blocks becomes a parameter where the blocks stride over all there is.

Precondition: grid.x is a number, or capped by one (`min(ceildiv(n, 1024), 1024)`); the kernel asks for its block's place along x
only to begin loops that step by the whole grid, or to index an array of its own in device memory; and the number of blocks is
not computed with. Fewer blocks then share out the same work. More are offered only where nothing has a place for each block.

Where the launch computes grid.x and a loop steps by the grid, a part of the blocks is offered by conjecture: that results do not
depend on how many there are.

Parameters: BLOCKS, or GRID_PART.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from warpsmith.core.expression import Expression
from warpsmith.refactor.base import Answer, Concern, Rewrite, Stage, Subject, Tunable
from warpsmith.refactor.extents import tidy, with_part
from warpsmith.refactor.lifting.is_tunable import launch_name_in_data
from warpsmith.refactor.lifting.launches import number_in
from warpsmith.refactor.lifting.redistribution import dependent_steps
from warpsmith.refactor.names import fresh_name
from warpsmith.refactor.preconditions import (
    Unmet,
    answered,
    names_of,
    on_workloads,
    present,
    require,
    require_readable,
)
from warpsmith.source import Loop, LoopKind, Names, loops_of
from warpsmith.source.geometry import subscripts_of
from warpsmith.source.maximal_expressions import ARITHMETIC, is_alias, outer, whole_expressions
from warpsmith.source.polynomial import Polynomial
from warpsmith.source.threads import teamwork
from warpsmith.source.tree import ancestors, text_of, unwrapped

if TYPE_CHECKING:
    from tree_sitter import Node

_LEAST = 4
_PARTS = (2, 4, 8, 16, 64)


class GridBlocks:
    name = "grid_blocks"
    summary = "the number of blocks, where grid-stride loops cover all elements"
    stage = Stage.LIFT
    concerns = frozenset({Concern.PARALLELISM})

    def apply(self, subject: Subject) -> Answer:
        return answered(subject, lambda: _apply(subject))


def _apply(subject: Subject) -> Answer:
    require_readable(subject)
    variant, names = subject.variant, names_of(subject)
    grid = Expression.parse(tidy(variant.grid[0]))
    literal = number_in(grid)
    if literal is None:
        return _divided(subject, names, grid.text)
    value = int(literal.value)
    require(value >= _LEAST, f"the launch has only {value} blocks along x")
    uses = list(_block_uses(names))
    require(any(_begins_grid_stride(node, names) for node in uses), "the kernel has no grid-stride loop along x")
    has_places = False
    for node in uses:
        if _begins_grid_stride(node, names):
            continue
        require(_indexes_own_array(node, names), "a block index is used for more than the start of a grid-stride loop", node)
        has_places = True
    reason = launch_name_in_data(names, "gridDim.x") or teamwork(subject.source).library
    if reason is not None:
        raise Unmet(f"the number of blocks is used: {reason}")
    reason = dependent_steps(names, "x")
    require(reason is None, reason or "")
    name = fresh_name(subject, "BLOCKS")
    # A quarter at a time: how many blocks there are matters less and less the more there are.
    values = {value >> shift for shift in (0, 2, 4, 6) if value >> shift >= _LEAST}
    if not has_places:
        values |= {value << 2}
    meaning = "blocks" if grid.text.isdigit() else "most blocks"
    tunable = Tunable(name, tuple(sorted(values)), value, meaning)
    changed = (with_part(grid, literal, name), *variant.grid[1:])
    return Rewrite(replace(variant, grid=changed, tunables=(*variant.tunables, tunable)))


def _divided(subject: Subject, names: Names, grid: str) -> Answer:
    """A part of the blocks that the launch computes, where the others' work is in reach of their loops."""
    loop = next((o for body in names.source.reached() for o in loops_of(body, names) if _strides(o, names)), None)
    found = present(
        loop, f"grid.x = {grid} is not a literal number in the launch, and the kernel has no grid-stride loop along x"
    )
    most = max(on_workloads(subject, grid))
    values = tuple(v for v in _PARTS if v * _LEAST <= most)
    require(values, f"the launch has only {most} blocks along x")
    line = names.source.line_of(found.node)
    parts = Tunable(
        fresh_name(subject, "GRID_PART"),
        (1, *values),
        1,
        "1 of so many blocks is started: their grid-stride loops cover the rest",
        assumes=f"results do not depend on the number of blocks: the loop at line {line} does the work of the others",
    )
    changed = (tidy(f"ceildiv({grid}, {parts.name})"), *subject.variant.grid[1:])
    return Rewrite(replace(subject.variant, grid=changed, tunables=(*subject.variant.tunables, parts)))


def _strides(loop: Loop, names: Names) -> bool:
    return loop.step is not None and Polynomial.of(loop.step, names).mentions("gridDim.x")


def _block_uses(names: Names) -> Iterator[Node]:
    """Expressions that depend on the block's place along x."""
    for body in names.source.reached():
        for node in whole_expressions(body, ARITHMETIC):
            if not is_alias(node, names) and Polynomial.of(node, names).mentions("blockIdx.x"):
                yield node


def _begins_grid_stride(node: Node, names: Names) -> bool:
    loop = next((a for a in ancestors(node) if a.type == "for_statement"), None)
    found = next(loops_of(loop, names), None) if loop is not None else None
    is_start = found is not None and found.node == loop and unwrapped(found.start) == unwrapped(node)
    return is_start and found is not None and found.kind is LoopKind.GRID_STRIDE and found.axis == "x"


def _indexes_own_array(node: Node, names: Names) -> bool:
    """`partial_sums[blockIdx.x]`, where that is no argument of the kernel."""
    parent = outer(node)
    while parent is not None and parent.type == "subscript_argument_list":
        parent = parent.parent
    if parent is None or parent.type != "subscript_expression" or Polynomial.of(node, names) != Polynomial.atom("blockIdx.x"):
        return False
    arguments = {parameter.name for parameter in names.source.parameters}
    return text_of(subscripts_of(parent)[1]) not in arguments
