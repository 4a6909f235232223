"""Accesses by rows, `out[row * n + col]`, in which neighbouring threads have neighbouring elements: the two sums kept apart.

Where a row begins is the same for all lanes of a vector, and so is where the block's part of it does. As one sum, vectors of
addresses are computed: 4 % of convolution_opencl's time, and 5 % of matmul's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from warpsmith.refactor.tiles.addresses import LAUNCH_NAME, SumWriter
from warpsmith.refactor.tiles.coordinates import whole_arguments
from warpsmith.refactor.writing import operand
from warpsmith.source import Edit, Names, Polynomial, loops_of
from warpsmith.source.scopes import Origin
from warpsmith.source.signs import Signs
from warpsmith.source.threads import spelled
from warpsmith.source.tree import field, is_within, of_kind, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_LANE = "threadIdx.x"
_NAME = re.compile(r"[A-Za-z_][\w.@]*")


@dataclass(frozen=True, slots=True)
class LaneAccess:
    """`buffer[row + column]`: the row is the same for all lanes, the column is one further for each."""

    node: Node
    buffer: Node
    row: Node
    column: Node


def lane_accesses(body: Node, names: Names, edits: Sequence[Edit]) -> Iterator[LaneAccess]:
    """But for what these edits replace."""
    signs = Signs(names)
    pointers = {p.name for p in names.source.parameters if p.depth == 1}
    for node in of_kind(body, "subscript_expression"):
        if any(edit.start <= node.start_byte and node.end_byte <= edit.end for edit in edits):
            continue
        buffer, indices = field(node, "argument"), field(node, "indices").named_children
        index = indices[0] if len(indices) == 1 else node
        if text_of(buffer) not in pointers or names.definition(buffer).origin is not Origin.PARAMETER:
            continue
        if index.type != "binary_expression" or text_of(field(index, "operator")) != "+":
            continue
        row, column = field(index, "left"), field(index, "right")
        lane = Polynomial.of(column, names).coefficient(_LANE)
        beside = lane is not None and lane.terms and not lane.atoms and not Polynomial.of(row, names).mentions(_LANE)
        # Apart, an unsigned sum would not come round again from below 0.
        if beside and all(signs.is_signed(side) or signs.is_natural(side) for side in (row, column)):
            yield LaneAccess(node, buffer, row, column)


def from_row(access: LaneAccess) -> Iterator[Edit]:
    """`(out + row * n)[col]`."""
    yield Edit(access.node.start_byte, access.node.start_byte, "(")
    yield Edit(access.buffer.end_byte, access.row.start_byte, " + ")
    yield Edit(access.row.end_byte, access.column.start_byte, ")[")


def from_first_lane(access: LaneAccess, names: Names) -> Iterator[Edit]:
    """`(out + row * n + first)[threadIdx.x]`; nothing where `col` is made of what may have changed since.

    It has no sum in common with `out[row * n + col]` in another branch. Compilers would compute that for both before either.
    """
    column = Polynomial.of(access.column, names)
    first = column.without(_LANE)
    if column - first != Polynomial.atom(_LANE) or not _is_steady(column, names, access.node):
        return
    writer = SumWriter(names.source.language, {})
    begin = f" + {operand(writer.plain(first))}" if first.terms else ""
    yield Edit(access.node.start_byte, access.node.start_byte, "(")
    yield Edit(access.buffer.end_byte, access.row.start_byte, " + ")
    yield Edit(access.row.end_byte, access.column.end_byte, f"{begin})[{spelled(_LANE, names.source.language)}")


def _is_steady(value: Polynomial, names: Names, place: Node) -> bool:
    """Whether it is made of the launch, of parameters, arguments and counters of loops around, which mean the same there."""
    around = (loop for loop in loops_of(names.source.body, names) if is_within(place, loop.body))
    counters = {loop.atom for loop in around if not loop.changes_variable(names) and _means(loop.atom, names, place)}
    arguments = {name for name in whole_arguments(names) if _means(name, names, place)}
    known = names.parameters | counters | arguments
    return all(name in known or LAUNCH_NAME.fullmatch(name) for atom in value.atoms for name in _NAME.findall(atom))


def _means(atom: str, names: Names, place: Node) -> bool:
    """Whether the name is not hidden by another of the same spelling."""
    name, _, start = atom.partition("@")
    scopes = names.source.scopes
    if start:
        return scopes.means(name, int(start), place)
    declared = scopes.declaration(name, place)
    return declared is not None and declared.origin is Origin.PARAMETER
