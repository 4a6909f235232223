"""Writes a kernel whose last tiles move back until they end with the data, so that nothing has to be checked.

`if (col < n) out[col] = f(x, col);` with `col = blockIdx.x * 64 + threadIdx.x` asks every thread. If the last block begins at
n - 64 instead, all of its elements exist; those that the block before it has as well get the same values from both. When that is
right is said by `refactor.tiles.free_tiles`; data smaller than a tile is left to the kernel as it stands.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from warpsmith.core.hardware import Language
from warpsmith.refactor.base import Subject
from warpsmith.refactor.preconditions import require
from warpsmith.refactor.tiles.addresses import SumWriter
from warpsmith.refactor.tiles.bounds_checks import Check, parts_of, without_check
from warpsmith.refactor.tiles.coordinates import Axis, whole_arguments
from warpsmith.refactor.tiles.free_tiles import FreeTiles, free_tiles
from warpsmith.refactor.tiles.lane_accesses import from_row, lane_accesses
from warpsmith.refactor.writing import FreeNames, barrier, cast, indented, joined_if, operand, statements_of
from warpsmith.source import Edit, Names, Polynomial
from warpsmith.source.maximal_expressions import SUMS
from warpsmith.source.scopes import Origin
from warpsmith.source.threads import spelled
from warpsmith.source.tree import field, is_within, of_kind, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_MOST_LINES = 120  # a copy of more than that nobody reads


def moved_tiles(subject: Subject, condition: str) -> Edit:
    """The kernel with tiles that move, under an `#if` at its beginning; Unmet where they may not."""
    source = subject.source
    tiles = free_tiles(subject)
    require(text_of(source.body).count("\n") <= _MOST_LINES, "the kernel is too long to be duplicated")
    start = source.body.start_byte + 1
    blank = not source.tree.data[start:].split(b"\n", 1)[0].strip()
    require(blank, "the line of the kernel's opening brace has other code", source.body)
    return Edit(start, start, "\n" + "\n".join(_lines(subject, tiles, condition)))


def _lines(subject: Subject, tiles: FreeTiles, condition: str) -> Iterator[str]:
    source, free = subject.source, FreeNames(subject.variant.text)
    writer = SumWriter(source.language, {})
    moved = {axis: free.take(f"back_{axis.name}") for axis in tiles.axes}
    edits = list(_without_checks(tiles))
    edits += [edit for access in lane_accesses(source.body, tiles.names, edits) for edit in from_row(access)]
    edits += [edit for axis, name in moved.items() for edit in _moved(tiles, axis, name, edits)]
    yield f"#if {condition}"
    yield "  // Tiles that would reach beyond the end begin earlier, so as to end there. What two of them have in common"
    yield "  // is computed twice, to the same values, and nothing has to be checked."
    yield from joined_if([f"{writer.plain(axis.span)} <= {writer.plain(axis.end)}" for axis in tiles.axes], "  ")
    if not subject.limits.has_banked_scratchpad:
        # In one loop over the threads, what is computed beforehand for the other way took 4 % of convolution_opencl's time.
        yield f"    {barrier(source.language)}  // both ways become loops of their own"
    kind = "long" if source.language is Language.OPENCL else "long long"
    for axis, name in moved.items():
        place = cast(source.language, kind, spelled(axis.block, source.language))
        beyond = f"({place} + 1) * {operand(writer.plain(axis.span))} - {operand(writer.plain(axis.end))}"
        yield f"    const {kind} {name} = {beyond} > 0 ? {beyond} : 0;"
    yield indented(statements_of(source.tree, source.body, edits), 2)
    yield "    return;"
    yield "  }"
    yield "#endif"


def _without_checks(tiles: FreeTiles) -> Iterator[Edit]:
    names = tiles.names
    for node in of_kind(names.source.body, "if_statement", "conditional_expression"):
        condition = field(node, "condition")
        if condition.type == "condition_clause":
            condition = condition.named_children[-1]
        parts = tuple(parts_of(condition, names))
        rest = tuple(text_of(part) for part in parts if not tiles.holds_inside(part))
        if len(rest) < len(parts):
            yield from without_check(Check(node, parts, (), rest), names.source.tree)


def _moved(tiles: FreeTiles, axis: Axis, name: str, edits: list[Edit]) -> Iterator[Edit]:
    """Wherever the block's place stands, as much less as the block begins earlier."""
    names = tiles.names
    writer = SumWriter(names.source.language, {})
    places = [n for n in of_kind(names.source.body, "field_expression", "call_expression") if _is_place(n, axis, names)]
    for use in of_kind(names.source.body, "identifier"):
        hidden = names.definition(use).origin is Origin.MACRO and Polynomial.of(use, names).mentions(axis.block)
        require(not hidden, f"{text_of(use)} hides a block index", use)
    sums = {(node.start_byte, node.end_byte): node for node in map(_sum_around, places)}
    for node in sums.values():
        if any(edit.start <= node.start_byte and node.end_byte <= edit.end for edit in edits):
            continue  # of a check that is gone
        for use in of_kind(node, "identifier"):
            other = not any(is_within(use, place) for place in places) and Polynomial.of(use, names).mentions(axis.block)
            require(not other, f"`{text_of(node)}` contains a block index twice", node)
        share = axis.share(tiles.geometry.polynomial(node, names))
        known = names.parameters | frozenset(whole_arguments(names))
        require(share is not None and share.atoms <= known, f"`{text_of(node)}` is not linear in a block index", node)
        if share is not None and share.terms:
            factor = writer.plain(share)
            yield Edit(node.end_byte, node.end_byte, f" - {name}" if factor == "1" else f" - {name} * {operand(factor)}")


def _sum_around(node: Node) -> Node:
    """The whole sum or product that it is part of, without brackets around it."""
    found, parent = node, node.parent
    while parent is not None:
        is_sum = parent.type == "binary_expression" and text_of(field(parent, "operator")) in SUMS
        is_cast = parent.type == "call_expression" and text_of(field(parent, "function")).startswith("static_cast")
        if is_sum or is_cast or parent.type == "cast_expression":
            found = parent
        elif parent.type not in {"parenthesized_expression", "argument_list"}:
            break
        parent = parent.parent
    return found


def _is_place(node: Node, axis: Axis, names: Names) -> bool:
    """A name of the launch's that tells where the block is: OpenCL's place in the grid does, too."""
    place = names.builtin(node) is not None or text_of(node).startswith("get_global_id")
    return place and Polynomial.of(node, names).mentions(axis.block)
