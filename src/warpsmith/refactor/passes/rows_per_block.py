"""`rows_per_block`: a block does the rows of several neighbouring blocks of the original, one after the other.

Exposes ROWS_PER_BLOCK: 1 as it was; else the body becomes a loop over as many values of blockIdx.x, with a barrier between them
where shared memory is used. Fewer blocks are started, and what does not depend on the row is computed once.

Precondition: the grid has one dimension, the kernel knows it by blockIdx.x only, its blocks do not wait for each other, and all
threads of a block leave it together where they wait for each other. How many rows there are is an argument that kernel.toml
equates with the grid's extent; without one, the grid gets a second dimension: a layer for each row that the last block lacks.
Conjectured: that assembly and libraries do not tell blocks apart, nor keep anything from one to the next.
Constraints: none.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from warpsmith.refactor.base import Answer, Concern, Rewrite, Stage, Subject, Tunable
from warpsmith.refactor.mapping.flat import flat_indices
from warpsmith.refactor.names import fresh_name
from warpsmith.refactor.preconditions import answered, axis, names_of, on_workloads, require
from warpsmith.refactor.rows.block_loop import block_loop
from warpsmith.refactor.rows.row_loop import count_argument, row_loop
from warpsmith.source import Names
from warpsmith.source.scopes import Origin
from warpsmith.source.threads import all_launch_uses, launch_uses
from warpsmith.source.tree import ancestors, of_kind

if TYPE_CHECKING:
    from tree_sitter import Node

_VALUES = (2, 4, 8, 16)


class RowsPerBlock:
    name = "rows_per_block"
    summary = "a block does the rows of several adjacent blocks sequentially"
    stage = Stage.RESTRUCTURE
    priority = 30
    concerns = frozenset({Concern.PARALLELISM, Concern.LOCALITY})

    def apply(self, subject: Subject) -> Answer:
        return answered(subject, lambda: _rewrite(subject))


def _rewrite(subject: Subject) -> Rewrite:
    names, variant = names_of(subject), subject.variant
    line_of_rows(subject, names)
    loop = block_loop(subject, names, may_assume=True)
    choice = replace(rows_parameter(subject, subject.source.line_of(loop.work[0].node)), assumes=loop.assumes)
    made = row_loop(loop, choice.name, count_argument(subject))
    return Rewrite(variant, choice, {value: made for value in choice.values if value != choice.default})


def rows_parameter(subject: Subject, line: int) -> Tunable:
    """How many rows a block may do. Raises Unmet where the device would be left without work."""
    most = max(on_workloads(subject, axis(subject.variant.grid, "x")))
    values = tuple(v for v in _VALUES if v * subject.limits.compute_units <= most)
    require(values, f"the launch has at most {most} rows of blocks: merging them would leave compute units idle")
    return Tunable(fresh_name(subject, "ROWS_PER_BLOCK"), (1, *values), 1, "rows (blocks of the original) per block", line)


def line_of_rows(subject: Subject, names: Names) -> None:
    """Raises Unmet unless each block of a grid of one dimension does one row."""
    flat = next(iter(flat_indices(subject.source.body, names)), None)
    require(flat is None, "the grid counts elements, not rows: use coarsen or map_2d", flat[0] if flat else None)
    require(is_line(subject, names), "the grid has several dimensions: its blocks are not rows")
    require_one_each(subject, names)


def is_line(subject: Subject, names: Names) -> bool:
    """Whether the grid has one dimension."""
    others = {"blockIdx.y", "blockIdx.z", "get_global_id.y", "get_global_id.z"}
    one = axis(subject.variant.grid, "y") == axis(subject.variant.grid, "z") == "1"
    return one and not others & all_launch_uses(subject.source, names).keys()


def require_one_each(subject: Subject, names: Names) -> None:
    already = next((n for n in launch_uses(subject.source.body, names).get("blockIdx.x", ()) if _is_counted_on(n, names)), None)
    require(already is None, "a block already does several rows sequentially", already)


def _is_counted_on(node: Node, names: Names) -> bool:
    """Whether a loop's variable is added to where the block begins."""
    outermost = node
    for outer in ancestors(node):
        if outer.type not in {"binary_expression", "parenthesized_expression"}:
            break
        outermost = outer
    return any(names.definition(use).origin is Origin.LOOP for use in of_kind(outermost, "identifier"))
