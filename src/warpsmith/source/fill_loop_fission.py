"""A loop that fills several tiles, as a loop for each of them: then each tile can be looked at, and done without, by itself.

The meaning is the same, the tokens are not: a form for passes to start from, like that of `plain_loops`. The loop, or condition,
does nothing but fill tiles, and reads none of them. Nothing waits inside it, so no other thread may see in which order they are
filled. Each copy keeps what its own tile needs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from warpsmith.source.dataflow import base_name, declared_names, identifiers, is_pure_call
from warpsmith.source.dead_work import LEAVING, targets_in
from warpsmith.source.kernel import KernelSource
from warpsmith.source.names import Names
from warpsmith.source.statements import has_directives, header_of, pieces_of, text_between, with_pragma
from warpsmith.source.tiles.loaded import VECTOR_CAST
from warpsmith.source.tiles.staged import shared_tiles
from warpsmith.source.tree import LOOPS, Edit, Tree, ancestors, field, is_within, of_kind, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_AROUND = LOOPS | {"if_statement"}


def with_own_fillings(source: KernelSource) -> str:
    """The whole file's text; as it was where there is nothing to take apart."""
    names = Names(source)
    tiles = frozenset(array.name for array in shared_tiles(names))
    if len(tiles) < 2 or source.has_errors():
        return source.text
    found: dict[int, Node] = {}
    for target in targets_in(source.body):
        whole = _filling(target, tiles, names) if _tile(target, tiles) else None
        if whole is not None and len(_filled(whole, tiles)) > 1:
            found[whole.start_byte] = whole
    return source.edited(*(_split(whole, tiles, source.tree) for whole in found.values()))


def _tile(target: Node, tiles: frozenset[str]) -> str:
    """The tile an element of which it is, or four of them through a pointer to a vector; empty where there is none."""
    if target.type == "pointer_expression" and VECTOR_CAST.match(text_of(field(target, "argument"))):
        return next((text_of(use) for use in of_kind(target, "identifier") if text_of(use) in tiles), "")
    name = base_name(target)
    return name if name in tiles else ""


def _filled(whole: Node, tiles: frozenset[str]) -> list[str]:
    return list(dict.fromkeys(tile for target in targets_in(whole) if (tile := _tile(target, tiles))))


def _filling(target: Node, tiles: frozenset[str], names: Names) -> Node | None:
    """The largest statement around that does nothing but fill tiles."""
    largest = None
    for outer in ancestors(target):
        if outer.type in _AROUND:
            if not _only_fills(outer, tiles, names):
                break
            largest = outer
    return largest


def _only_fills(whole: Node, tiles: frozenset[str], names: Names) -> bool:
    if has_directives(whole) or any(True for _ in of_kind(whole, *LEAVING)):
        return False
    if not all(is_pure_call(call, names.source) for call in of_kind(whole, "call_expression")):
        return False
    used = [text_of(use) for use in of_kind(whole, "identifier") if text_of(use) in tiles]
    filled = []
    for target in targets_in(whole):
        if tile := _tile(target, tiles):
            filled.append(tile)
            continue
        declared = names.source.scopes.declaration(base_name(target), target)
        if declared is None or not is_within(declared.node, whole):
            return False
    return sorted(used) == sorted(filled)


def _split(whole: Node, tiles: frozenset[str], tree: Tree) -> Edit:
    *pragmas, _ = with_pragma(whole)
    start = min(node.start_byte for node in (*pragmas, whole))
    head = tree.data[start : whole.start_byte].decode()
    copies = []
    for tile in _filled(whole, tiles):
        kept = _kept(whole, tile, tiles)
        copies.append(head + text_between(tree, whole.start_byte, whole.end_byte, _others(whole, kept, tree)))
    blanks = "" if pragmas else tree.indentation(whole)
    return Edit(start, whole.end_byte, f"\n{blanks}".join(copies))


def _kept(whole: Node, tile: str, tiles: frozenset[str]) -> list[Node]:
    """The statements that fill the tile, and those that they need."""
    simple = [s for s in of_kind(whole, "expression_statement", "declaration") if not _is_of_header(s)]
    kept = [s for s in simple if any(_tile(target, tiles) == tile for target in targets_in(s))]
    kept += of_kind(whole, "break_statement", "continue_statement")
    while True:
        around = {a.start_byte: a for s in kept for a in ancestors(s) if a.type in _AROUND and is_within(a, whole)}
        needed = {name for part in (*kept, *(h for a in around.values() for h in header_of(a))) for name in identifiers(part)}
        more = [s for s in simple if s not in kept and needed.intersection(_given(s))]
        if not more:
            return kept
        kept += more


def _is_of_header(statement: Node) -> bool:
    return statement.parent is not None and statement.parent.type in _AROUND and statement in header_of(statement.parent)


def _given(statement: Node) -> list[str]:
    return [*declared_names(statement), *(base_name(target) for target in targets_in(statement))]


def _others(node: Node, kept: Sequence[Node], tree: Tree) -> Iterator[Edit]:
    """What takes away all that is not kept below a node in which something is."""
    if node.type == "compound_statement":
        for piece in pieces_of(node, tree):
            if _holds(piece.node, kept):
                yield from _others(piece.node, kept, tree)
            else:
                yield Edit(piece.start, piece.end, "")
    elif node.type in _AROUND:
        inner = field(node, "consequence" if node.type == "if_statement" else "body")
        otherwise = node.child_by_field_name("alternative")
        if _holds(inner, kept):
            yield from _others(inner, kept, tree)
        else:
            yield Edit(inner.start_byte, inner.end_byte, "{}")
        if otherwise is not None and _holds(otherwise, kept):
            yield from _others(otherwise.named_children[-1], kept, tree)
        elif otherwise is not None:
            yield Edit(inner.end_byte, otherwise.end_byte, "")


def _holds(node: Node, kept: Sequence[Node]) -> bool:
    return any(is_within(statement, node) for statement in kept)
