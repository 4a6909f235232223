"""A block of code as a list of statements with the whole text between them, so that they can be moved without losing a comment.

Pragmas and comments belong to the statement after them; a comment at the end of a statement's line belongs to that statement.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from warpsmith.source.tree import Edit, Tree, of_kind

if TYPE_CHECKING:
    from tree_sitter import Node

_LEADING = {"comment", "preproc_call"}
_CONDITIONAL = ("preproc_if", "preproc_ifdef", "preproc_else", "preproc_elif")


@dataclass(frozen=True, slots=True)
class Piece:
    """A statement with what leads to it: its bytes begin where the piece before ends."""

    node: Node = field(repr=False)
    start: int
    end: int


def pieces_of(block: Node, tree: Tree) -> list[Piece]:
    """The statements of a compound statement (or the one statement that stands in place of one), in order."""
    if block.type != "compound_statement":
        return [Piece(block, block.start_byte, block.end_byte)]
    found: list[Piece] = []
    position = block.children[0].end_byte
    for child in block.named_children:
        if child.type in _LEADING:
            same_line = found and b"\n" not in tree.data[found[-1].end : child.start_byte]
            if child.type == "comment" and same_line:
                found[-1] = Piece(found[-1].node, found[-1].start, child.end_byte)
                position = child.end_byte
            continue
        # The grammar lets a directive's node include its line end; a statement's never does.
        found.append(Piece(child, position, child.end_byte))
        position = child.end_byte
    return found


def has_directives(block: Node) -> bool:
    """Whether conditional directives lie inside: then what is a statement depends on macros."""
    return any(True for _ in of_kind(block, *_CONDITIONAL))


def with_pragma(statement: Node) -> list[Node]:
    """The statement and the pragma that is for it."""
    before = statement.prev_sibling
    return [before, statement] if before is not None and before.type == "preproc_call" else [statement]


def header_of(statement: Node) -> list[Node]:
    """What decides on a loop's steps, or on a condition's branches."""
    parts = (statement.child_by_field_name(name) for name in ("initializer", "condition", "update", "right"))
    return [part for part in parts if part is not None]


def text_between(tree: Tree, start: int, end: int, edits: Iterable[Edit] = ()) -> str:
    """The bytes from `start` to `end` after those of the edits that lie inside. One within another is gone with it."""
    pieces: list[bytes] = []
    position = start
    for edit in sorted(edits, key=lambda e: (e.start, e.end)):
        if start <= edit.start < position < edit.end <= end:
            raise ValueError(f"overlapping edits at byte {edit.start}")
        if edit.start < position or edit.end > end:
            continue
        pieces += [tree.data[position : edit.start], edit.text.encode()]
        position = edit.end
    return (b"".join(pieces) + tree.data[position:end]).decode()


def at_margin(piece: Piece, tree: Tree, edits: Iterable[Edit] = ()) -> list[str]:
    """The lines of a statement after the edits, moved to the margin."""
    margin = tree.indentation(piece.node)
    first, *others = text_between(tree, piece.start, piece.end, edits).split("\n")
    # A piece begins at the end of the line before: that empty rest is no line of its own.
    return [*([first.strip()] if first.strip() else []), *(line.removeprefix(margin) for line in others)]


def line_at(line: str, indentation: str) -> str:
    """A line moved to the right. Directives stay at the margin, and blank lines blank."""
    return line if line.startswith("#") or not line.strip() else indentation + line


def indent_unit(function: Node, body: Node, tree: Tree) -> str:
    """What one level of indentation is in this function."""
    outer = tree.indentation(function)
    first = next((c for c in body.named_children if c.type not in {"preproc_call", "comment"}), None)
    inner = tree.indentation(first) if first is not None else ""
    return inner.removeprefix(outer) if inner.startswith(outer) and len(inner) > len(outer) else "  "
