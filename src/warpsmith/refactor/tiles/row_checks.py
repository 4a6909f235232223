"""Writes a loop over a tile's rows so that what is asked of a row is asked once, not of each of its elements.

    for (row …) for (col …) tile[row][col] = row < m && col < n ? x[…] : 0;

becomes `for (row …) { if (row < m) { for (col …) … } else { for (col …) tile[row][col] = 0; } }`. A compiler that makes vectors
of neighbouring threads sees a mask in the joined check, and a branch in this one. Where a matrix has fewer rows than a tile, most
of the tile's lie outside: a product of seven rows took over ten times as long with joined checks (64 × 64 tiles, CPU device).

Only loops that are distributed over threads are written so: those that fill a tile. Values stay the same bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from warpsmith.refactor.writing import indented, joined_if, operand, statements_of
from warpsmith.source import Edit, Loop, LoopKind, Names, Polynomial
from warpsmith.source.dataflow import changed_names
from warpsmith.source.statements import text_between
from warpsmith.source.tree import field, is_within, of_kind, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_COMPARED = frozenset({"<", "<=", ">", ">="})


def row_checks(loop: Loop, checks: Mapping[Node, Sequence[Node]], names: Names) -> list[str]:
    """What can be asked before a row is begun, of all that its checks ask; `checks` has the comparisons that each one joins."""
    counted = loop.kind is LoopKind.COUNTED or loop.body.type != "compound_statement"
    if counted or not checks or any(check.type != "conditional_expression" for check in checks):
        return []
    joined = [{text_of(part): part for part in parts} for parts in checks.values()]
    found = [text for text, part in joined[0].items() if all(text in other for other in joined) and _is_of_row(part, loop, names)]
    rest = any(set(parts) - set(found) for parts in joined)
    return found if rest else []  # else there is nothing to be told apart


def _is_of_row(part: Node, loop: Loop, names: Names) -> bool:
    """Whether it is known when the row is begun, and the same for all threads that share it."""
    if part.type != "binary_expression" or text_of(field(part, "operator")) not in _COMPARED:
        return False
    if any(names.builtin(call) is None for call in of_kind(part, "call_expression")):
        return False
    changed = changed_names(loop.body, names.source)
    for use in of_kind(part, "identifier"):
        declared = names.source.scopes.declaration(text_of(use), use)
        if text_of(use) in changed or (declared is not None and is_within(declared.node, loop.body)):
            return False
    return not any(Polynomial.of(field(part, side), names).mentions("threadIdx.x") for side in ("left", "right"))


def by_rows(loop: Loop, start: int, asked: Sequence[str], checks: Iterable[Node], names: Names) -> str:
    """The text from `start` to the loop's end, with those checks around its body."""
    tree = names.source.tree
    blanks = tree.indentation(loop.node)
    outside = statements_of(tree, loop.body, list(_alternatives(checks)))
    lines = [
        text_between(tree, start, loop.body.start_byte).rstrip() + " {",
        *joined_if(asked, f"{blanks}  "),
        indented(statements_of(tree, loop.body), 2),
        f"{blanks}  }} else {{",
        indented(outside, 2),
        f"{blanks}  }}",
        f"{blanks}}}",
    ]
    return "\n".join(lines)


def _alternatives(checks: Iterable[Node]) -> Iterator[Edit]:
    for check in checks:
        yield Edit(check.start_byte, check.end_byte, operand(text_of(field(check, "alternative"))))
