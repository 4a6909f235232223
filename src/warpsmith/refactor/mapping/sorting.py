"""Sorts statements that work on a row and a column: those that need the row only, those that need the column only, the rest."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from warpsmith.refactor.base import Subject
from warpsmith.refactor.mapping.row_values import Value, row_values
from warpsmith.refactor.preconditions import require
from warpsmith.source import Edit, Names
from warpsmith.source.dataflow import (
    changed_names,
    declarators,
    declared_names,
    dependents,
    exits,
    identifiers,
    is_fixed,
    is_in_inner_loop,
    reads_inputs_only,
)
from warpsmith.source.statements import Piece, at_margin
from warpsmith.source.threads import spelled
from warpsmith.source.tree import field as field_of
from warpsmith.source.tree import is_within, of_kind, text_of, unwrapped

if TYPE_CHECKING:
    from tree_sitter import Node

ROW, COL = "\0row\0", "\0col\0"  # stand for the two names in the statements' texts


@dataclass(frozen=True, slots=True)
class Split:
    """All `index / extent` and `index % extent` of one index and one extent."""

    extent: Node = field(repr=False)
    nodes: tuple[Node, ...] = field(repr=False)

    def part(self, node: Node) -> str:
        return ROW if text_of(field_of(node, "operator")) == "/" else COL


@dataclass(frozen=True, slots=True)
class Part:
    """The row or the column where the original declares a variable for it: its name and its declared type."""

    name: str | None = None
    type: str | None = None


@dataclass(frozen=True, slots=True)
class HandedOn:
    """The row's part where one thread does it for all: `once` is what the first column does, without asking which one it is."""

    once: tuple[str, ...]
    again: tuple[str, ...]
    kept: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class SortedStatements:
    """Texts at the margin, in order. `uses_index` when something needs the index itself."""

    row_only: tuple[str, ...]
    first_column: tuple[str, ...]  # what the first column does for the whole row, guarded by threadIdx.x
    col_only: tuple[str, ...]
    rest: tuple[str, ...]
    row: Part
    col: Part
    uses_index: bool
    handed_on: HandedOn | None = None


def sorted_statements(
    subject: Subject, names: Names, pieces: Sequence[Piece], split: Split, variable: str, *, hoist_columns: bool
) -> SortedStatements:
    """With `hoist_columns` those that need the column only are taken out; else those at the front that need the row only."""
    return _Sorter(subject, names, split, variable).sort(list(pieces), hoist_columns=hoist_columns)


class _Sorter:
    def __init__(self, subject: Subject, names: Names, split: Split, variable: str) -> None:
        self._subject = subject
        self._source = subject.source
        self._names = names
        self._split = split
        self._variable = variable
        self._spans = {(n.start_byte, n.end_byte): split.part(n) for n in split.nodes}

    def sort(self, pieces: list[Piece], *, hoist_columns: bool) -> SortedStatements:
        row, row_piece = self._declared(pieces, ROW)
        col, col_piece = self._declared(pieces, COL)
        kept = [p for p in pieces if p not in (row_piece, col_piece)]
        edits = self._edits(kept)
        col_only = self._column_statements(kept, row) if hoist_columns else []
        row_only: list[Piece] = [] if hoist_columns else self._row_statements(kept, col)
        first = [] if hoist_columns else self._first_column_statements(kept, row_only, col)
        edits += [Edit(n.start_byte, n.end_byte, spelled("threadIdx.x", self._source.language)) for _, n in first]
        once = [p for p, _ in first]
        rest = [p for p in kept if p not in (*col_only, *row_only, *once)]

        def texts(group: Sequence[Piece]) -> tuple[str, ...]:
            return tuple("\n".join(at_margin(p, self._source.tree, edits)) for p in group)

        uses_index = any(self._variable in self._reads(p.node) for p in kept)
        later = {name for piece in rest for name in identifiers(piece.node)}
        values = row_values(row_only, later, self._names, self._subject.kernel, self._split.nodes)
        handed_on = None
        if values is not None:
            work = [field_of(p.node, "consequence") for p in once]
            handed_on = HandedOn(texts([Piece(w, w.start_byte, w.end_byte) for w in work]), texts(values.again), values.kept)
        return SortedStatements(texts(row_only), texts(once), texts(col_only), texts(rest), row, col, uses_index, handed_on)

    def _declared(self, pieces: list[Piece], part: str) -> tuple[Part, Piece | None]:
        """The statement `type row = index / extent;` that only names the part, when nothing ever changes that name."""
        for piece in pieces:
            found = declarators(piece.node)
            if len(found) != 1 or found[0].type != "init_declarator":
                continue
            value, named = unwrapped(field_of(found[0], "value")), field_of(found[0], "declarator")
            if self._spans.get((value.start_byte, value.end_byte)) == part and named.type == "identifier":
                require(
                    is_fixed(piece.node, [p.node for p in pieces], self._source),
                    f"{text_of(named)} is modified later",
                    piece.node,
                )
                kind = self._source.tree.data[piece.node.start_byte : found[0].start_byte].decode().strip()
                return Part(text_of(named), kind), piece
        return Part(), None

    def _edits(self, kept: list[Piece]) -> list[Edit]:
        edits = [Edit(*span, part) for span, part in self._spans.items()]
        for piece in kept:
            for leaving in exits(piece.node):
                require(not is_in_inner_loop(leaving, piece.node), "an inner loop returns", leaving)
                edits.append(Edit(leaving.start_byte, leaving.end_byte, "continue;"))
        return edits

    def _row_statements(self, kept: list[Piece], col: Part) -> list[Piece]:
        by_col = dependents({COL, self._variable, *([col.name] if col.name else [])}, [p.node for p in kept], self._reads)
        found: list[Piece] = []
        for number, piece in enumerate(kept):
            after = [p.node for p in kept[number + 1 :]]
            if not is_fixed(piece.node, after, self._source) or not by_col.isdisjoint(
                {*self._reads(piece.node), *declared_names(piece.node)}
            ):
                break
            found.append(piece)
        return found

    def _first_column_statements(self, kept: list[Piece], row_only: list[Piece], col: Part) -> list[tuple[Piece, Node]]:
        """`if (col == 0) …` that needs nothing else of the column: with the node to be replaced by the thread's own place.

        It may come before the columns if what it writes is of no concern to them, and what it reads they do not change.
        """
        known = {name for piece in row_only for name in declared_names(piece.node)}
        inside = {name for piece in kept for name in declared_names(piece.node)}
        found: list[tuple[Piece, Node]] = []
        for piece in kept:
            compared = self._compared_with_zero(piece.node, col)
            if compared is None:
                continue
            work = field_of(piece.node, "consequence")
            written = changed_names(work, self._source)
            read = set(self._reads(work)) - written
            others = {name for p in kept if p != piece for name in identifiers(p.node)}
            if (
                read.isdisjoint({COL, self._variable, col.name} | (inside - known))
                and written.isdisjoint(others | inside)
                and written <= {p.name for p in self._source.parameters if p.depth}
                and reads_inputs_only(work, self._names, self._subject.kernel, besides=written)
                and not any(exits(work))
            ):
                found.append((piece, compared))
        return found

    def _compared_with_zero(self, node: Node, col: Part) -> Node | None:
        """The column in `if (column == 0)` without an else."""
        if node.type != "if_statement" or node.child_by_field_name("alternative") is not None:
            return None
        inner = field_of(node, "condition")
        condition = unwrapped(field_of(inner, "value") if inner.type == "condition_clause" else inner)
        if condition.type != "binary_expression" or text_of(field_of(condition, "operator")) != "==":
            return None
        sides = unwrapped(field_of(condition, "left")), unwrapped(field_of(condition, "right"))
        for one, other in (sides, sides[::-1]):
            is_column = text_of(one) == col.name or self._spans.get((one.start_byte, one.end_byte)) == COL
            if is_column and self._names.value(other) == 0:
                return one
        return None

    def _column_statements(self, kept: list[Piece], row: Part) -> list[Piece]:
        by_row = dependents({ROW, self._variable, *([row.name] if row.name else [])}, [p.node for p in kept], self._reads)
        inside = {name for piece in kept for name in declared_names(piece.node)}
        found: list[Piece] = []
        for number, piece in enumerate(kept):
            own = set(declared_names(piece.node))
            after = [p.node for p in kept[number + 1 :]]
            read = set(self._reads(piece.node)) - own
            if (
                own
                and is_fixed(piece.node, after, self._source)
                and by_row.isdisjoint(read | own)
                and read.isdisjoint(inside - {n for p in found for n in declared_names(p.node)})
                and reads_inputs_only(piece.node, self._names, self._subject.kernel)
            ):
                found.append(piece)
        return found

    def _reads(self, node: Node) -> AbstractSet[str]:
        """The names that a piece of code uses, where a split of the index is the row or the column and nothing else."""
        inside = [s for s in self._split.nodes if is_within(s, node)]
        if not inside:
            return identifiers(node)
        found = {self._spans[s.start_byte, s.end_byte] for s in inside}
        for use in of_kind(node, "identifier"):
            if not any(is_within(use, s) for s in inside):
                found.add(text_of(use))
        return found | {text_of(n) for s in inside for n in of_kind(field_of(s, "right"), "identifier")}
