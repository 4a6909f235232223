"""Finds an index that the kernel splits into row and column by division, and sorts the statements by which of the two they need.

The index is the thread's place in the grid (a flat kernel with a guard), or the variable of a block-stride or grid-stride loop.
Writing the two-dimensional form is the business of `passes.map_2d`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from warpsmith.refactor.base import Rule, Subject
from warpsmith.refactor.mapping.flat import FLAT, changeable, flat_indices, flat_kernel, require_known_at
from warpsmith.refactor.mapping.sorting import ROW, SortedStatements, Split, sorted_statements
from warpsmith.refactor.preconditions import Unmet, axis, on_workloads, present, require
from warpsmith.refactor.writing import operand
from warpsmith.source import Loop, LoopKind, Names, Polynomial, loops_of
from warpsmith.source.dataflow import (
    changed_names,
    declared_names,
    exits,
    identifiers,
    is_in_inner_loop,
)
from warpsmith.source.guards import Guard
from warpsmith.source.polynomial import canonical
from warpsmith.source.statements import pieces_of
from warpsmith.source.threads import all_launch_uses
from warpsmith.source.tree import field as field_of
from warpsmith.source.tree import is_within, of_kind, text_of, unwrapped

if TYPE_CHECKING:
    from tree_sitter import Node

_OF_GRID = {"blockIdx.x", "gridDim.x", "get_global_id.x", "get_global_size.x"}
_NOT_BY_TOML = "cannot be computed from the sizes in kernel.toml"


@dataclass(frozen=True, slots=True)
class Rows:
    """How many rows there are: in C, for kernel.toml, and what must hold for that to be so."""

    text: str
    expression: str
    rules: tuple[Rule, ...] = ()


@dataclass(frozen=True, slots=True)
class Region:
    """The text from `start` to `end` is to be replaced; `type` is what the index is declared as."""

    start: int
    end: int
    gone: tuple[int, int]  # the declaration of a flat index, before the region
    indent: str
    split: Split = field(repr=False)
    rows: Rows
    statements: SortedStatements
    variable: str
    type: str
    is_flat: bool
    is_grid_stride: bool = False


def find_region(subject: Subject, names: Names) -> Region:
    """Raises Unmet when no index is split, or when what is done with it cannot be laid out in two dimensions."""
    finder = _Finder(subject, names)
    body = subject.source.body
    for loop in loops_of(body, names):
        if loop.kind in {LoopKind.BLOCK_STRIDE, LoopKind.GRID_STRIDE} and loop.axis == "x":
            split = finder.split(Polynomial.atom(loop.atom), loop.body)
            if split is not None:
                return finder.of_loop(loop, split)
    for declaration, declarator in flat_indices(body, names):
        split = finder.split(FLAT, body)
        if split is not None:
            return finder.of_flat(declaration, declarator, split)
    raise Unmet("no index of the grid or of a strided loop is split into row and column by division")


class _Finder:
    def __init__(self, subject: Subject, names: Names) -> None:
        self._subject = subject
        self._source = subject.source
        self._names = names

    def split(self, index: Polynomial, within: Node) -> Split | None:
        groups: dict[str, list[Node]] = {}
        for node in of_kind(within, "binary_expression"):
            if text_of(field_of(node, "operator")) in {"/", "%"} and Polynomial.of(field_of(node, "left"), self._names) == index:
                groups.setdefault(canonical(field_of(node, "right"), self._names), []).append(node)
        # Of several extents the one with a remainder of the index itself is the innermost: the others are multiples of it.
        inner = [g for g in groups.values() if any(text_of(field_of(n, "operator")) == "%" for n in g)] or list(groups.values())
        if not inner:
            return None
        require(len(inner) == 1, "the index is split by several extents", inner[-1][0])
        return Split(unwrapped(field_of(inner[0][0], "right")), tuple(inner[0]))

    def of_flat(self, declaration: Node, declarator: Node, split: Split) -> Region:
        """The index is the thread's place in the grid. A guard on the row is as good as one on the index."""
        row = [Polynomial.of(n, self._names) for n in split.nodes if split.part(n) == ROW][:1]
        flat = flat_kernel(self._subject, self._names, declaration, declarator, (FLAT, *row))
        require_known_at(flat.start, split.extent, self._subject, self._names)
        rows = self._rows(flat.guard, split)
        self._require_covered(rows, split)
        return Region(
            start=flat.start,
            end=flat.end,
            gone=(flat.declaration.start, flat.declaration.end),
            indent=flat.indent,
            split=split,
            rows=rows,
            statements=sorted_statements(self._subject, self._names, flat.work, split, flat.variable, hoist_columns=False),
            variable=flat.variable,
            type=flat.type,
            is_flat=True,
        )

    def of_loop(self, loop: Loop, split: Split) -> Region:
        """The index is a loop's variable."""
        body, variable = loop.body, loop.variable
        require(
            not loop.changes_variable(self._names) and loop.ends_below,
            f"the loop over {variable} is not in canonical form",
            loop.node,
        )
        grid_stride = loop.kind is LoopKind.GRID_STRIDE
        own = FLAT if grid_stride else Polynomial.atom("threadIdx.x")
        begins = Polynomial.of(loop.start, self._names) == own
        require(begins, f"{variable} does not start at the thread's index", loop.start)
        require(not grid_stride or self._is_line_of_blocks(), "the grid has several dimensions", loop.node)
        own_names = {"threadIdx.x", "blockDim.x"} | (_OF_GRID if grid_stride else set())
        self._require_only_header(loop, own_names)
        inner = {n for d in of_kind(body, "declaration") for n in declared_names(d)}
        pointers = {p.name for p in self._source.parameters if p.depth}
        carried = sorted(n for n in changed_names(body, self._source) - inner - pointers if not self._is_pointer(n))
        require(not carried, f"the loop carries {', '.join(carried)} between iterations", loop.node)
        jumps = [*exits(body), *(n for n in of_kind(body, "break_statement") if not is_in_inner_loop(n, body))]
        require(not jumps, "a step can leave the loop", jumps[0] if jumps else None)
        require_known_at(loop.node.start_byte, split.extent, self._subject, self._names)
        pieces = pieces_of(body, self._source.tree)
        begin = loop.pragma or loop.node
        return Region(
            start=self._source.tree.line_start(begin),
            end=loop.node.end_byte,
            gone=(0, 0),
            indent=self._source.tree.indentation(loop.node),
            split=split,
            rows=self._rows(Guard(own, loop.bound, None, loop.node), split, of_index=True),
            statements=sorted_statements(self._subject, self._names, pieces, split, variable, hoist_columns=True),
            variable=variable,
            type=f"const {changeable(loop.type)}",
            is_flat=False,
            is_grid_stride=grid_stride,
        )

    def _rows(self, guard: Guard, split: Split, *, of_index: bool = False) -> Rows:
        names, limit = self._names, guard.limit
        text = self._source.text_of
        if guard.left != FLAT and not of_index:
            return Rows(operand(text(limit)), present(names.expression(limit), f"the number of rows {_NOT_BY_TOML}", limit))
        factor = _other_factor(limit, split.extent, names)
        if factor is not None and (expression := names.expression(factor)) is not None:
            return Rows(text(unwrapped(factor)), expression)
        total = present(names.expression(limit), f"the number of elements {_NOT_BY_TOML}", limit)
        extent = present(names.expression(split.extent), f"the length of a row {_NOT_BY_TOML}", split.extent)
        whole = Rule(f"{total} % {extent} == 0", "rows of threads need whole rows of elements")
        return Rows(f"{operand(text(limit))} / {operand(text(split.extent))}", f"{total} / {extent}", (whole,))

    def _require_covered(self, rows: Rows, split: Split) -> None:
        """The original's threads are enough for all rows: what it leaves out, the new form would do."""
        variant = self._subject.variant
        extent = present(self._names.expression(split.extent), f"the length of a row {_NOT_BY_TOML}", split.extent)
        threads = f"({axis(variant.grid, 'x')}) * ({axis(variant.block, 'x')})"
        for have, count, length in zip(
            *(on_workloads(self._subject, e) for e in (threads, rows.expression, extent)), strict=True
        ):
            require(have >= count * length, f"the launch has {have} threads for {count} rows of {length}", split.extent)

    def _require_only_header(self, loop: Loop, allowed: set[str]) -> None:
        """The thread's place serves the loop's header only; the grid stays as it is unless the loop strides over it."""
        for name, nodes in all_launch_uses(self._source, self._names).items():
            if name.startswith(("blockIdx", "gridDim")) and "gridDim.x" not in allowed:
                continue
            for node in nodes:
                fine = is_within(node, loop.node) and not is_within(node, loop.body) and name in allowed
                require(fine, f"{text_of(node)} is used in addition to the index {loop.variable}", node)

    def _is_line_of_blocks(self) -> bool:
        grid = self._subject.variant.grid
        return axis(grid, "y") == axis(grid, "z") == "1"

    def _is_pointer(self, name: str) -> bool:
        """Whether only what it points to is changed: then it is no value carried along."""
        for declaration in of_kind(self._source.body, "declaration"):
            for child in of_kind(declaration, "pointer_declarator"):
                if name in identifiers(child):
                    return not self._names.is_assigned(name, self._source.body)
        return False


def _other_factor(product: Node, factor: Node, names: Names) -> Node | None:
    """`a` of `a * b` or `b * a`, also where a fixed name stands for the product."""
    product = unwrapped(product)
    if product.type == "binary_expression" and text_of(field_of(product, "operator")) == "*":
        wanted = canonical(factor, names)
        left, right = field_of(product, "left"), field_of(product, "right")
        if canonical(right, names) == wanted:
            return left
        if canonical(left, names) == wanted:
            return right
    return None
