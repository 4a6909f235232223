"""What is worth computing once for a row and handing to its threads, where a kernel works on rows and columns.

Of the statements that need the row only, some are cheaper to repeat than to share (an offset, a comparison). The others read
memory, call functions or divide; what the columns need of these is *kept* in shared memory, an element for each row of a block.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from warpsmith.source import Names
from warpsmith.source.dataflow import declarators, declared_names, identifiers, reads_inputs_only
from warpsmith.source.effects import called_functions, reads_memory
from warpsmith.source.statements import Piece
from warpsmith.source.tree import field as field_of
from warpsmith.source.tree import of_kind, text_of
from warpsmith.spec.kernel import Kernel

if TYPE_CHECKING:
    from tree_sitter import Node

_FREE = frozenset({"static_cast", "reinterpret_cast", "min", "max", "std::min", "std::max"})


@dataclass(frozen=True, slots=True)
class Value:
    """A variable of a row: `type` is without `const`."""

    type: str
    name: str
    bytes: int


@dataclass(frozen=True, slots=True)
class RowValues:
    """`again` are the statements that every thread repeats; `kept` is what it needs of the others."""

    again: tuple[Piece, ...] = field(repr=False)
    kept: tuple[Value, ...]


def row_values(
    row_only: Sequence[Piece], later: Collection[str], names: Names, kernel: Kernel, parts: Collection[Node]
) -> RowValues | None:
    """None unless a function is called for what is read `later`, and all such values can be handed on.

    `parts` are the divisions that make the row: there, the row is known.
    """
    again: list[Piece] = []
    once: list[Piece] = []
    known_once: set[str] = set()
    for piece in row_only:
        if _is_cheap(piece.node, names, parts) and known_once.isdisjoint(identifiers(piece.node)):
            again.append(piece)
        else:
            once.append(piece)
            known_once.update(declared_names(piece.node))
    kept = [value for piece in once for value in _values(piece.node, names) if value.name in later]
    can_be_kept = {value.name for value in kept} == known_once.intersection(later)
    works = any(called not in _FREE for piece in once for called, _ in called_functions(piece.node))
    stays = all(reads_inputs_only(piece.node, names, kernel) for piece in once)
    return RowValues(tuple(again), tuple(kept)) if kept and can_be_kept and works and stays else None


def _is_cheap(statement: Node, names: Names, parts: Collection[Node]) -> bool:
    others = (n for n in of_kind(statement, "binary_expression") if n not in parts)
    divides = any(text_of(field_of(n, "operator")) in {"/", "%"} for n in others)
    calls = any(called not in _FREE for called, _ in called_functions(statement))
    return not divides and not calls and not reads_memory(statement, names)


def _values(statement: Node, names: Names) -> list[Value]:
    """The numbers that a declaration declares; none when there is anything else among them."""
    kind = statement.child_by_field_name("type")
    size = names.size_of(text_of(kind)) if kind is not None else None
    plain = all(d.type == "init_declarator" and field_of(d, "declarator").type == "identifier" for d in declarators(statement))
    if kind is None or size is None or not plain:
        return []
    return [Value(text_of(kind), text_of(field_of(d, "declarator")), size) for d in declarators(statement)]
