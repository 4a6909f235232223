"""`blocked_strided`: which of a tile's columns a thread has.

Exposes: whether a thread's K columns are neighbours (`threadIdx.x * K + j`, blocked) or a block's width apart
(`j * blockDim.x + threadIdx.x`, strided). Strided, neighbouring threads touch neighbouring elements at each step, in shared and
in global memory.

Precondition: all work on a column is done in loops over j = 0 … K - 1, and depends on the thread only through the column: what
j indexes otherwise is the thread's own, and no other thing that tells threads apart along x reaches these loops. Then it is only
a matter of names which thread has which column, as both forms give each of `blockDim.x * K` columns to one (thread, j).
Parameter: SPREAD, 0 blocked as it was, 1 strided. Constraints: strided only with several columns a thread. Originals that are
strided already are left so: blocked columns would cost coalescing, and gain only with wider accesses.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from warpsmith.refactor.base import Answer, Concern, Rewrite, Rule, Stage, Subject, Tunable
from warpsmith.refactor.geometry import Geometry
from warpsmith.refactor.names import fresh_name
from warpsmith.refactor.preconditions import answered, names_of, require, require_readable
from warpsmith.refactor.writing import operand
from warpsmith.source import Edit, Loop, Names, Polynomial, loops_of
from warpsmith.source.columns import ColumnWork
from warpsmith.source.sums import added_terms, sums_in
from warpsmith.source.threads import spelled
from warpsmith.source.tree import field, of_kind, text_of, unwrapped

if TYPE_CHECKING:
    from tree_sitter import Node

_THREAD = "threadIdx.x"


@dataclass(frozen=True, slots=True)
class _Column:
    """`threadIdx.x * K` and `j` as terms of one sum."""

    first: Node
    index: Node


class BlockedStrided:
    name = "blocked_strided"
    summary = "a thread's columns are contiguous (blocked), or a block's width apart (strided)"
    stage = Stage.RESTRUCTURE
    priority = 40
    concerns = frozenset({Concern.COALESCING, Concern.LOCALITY})

    def apply(self, subject: Subject) -> Answer:
        return answered(subject, lambda: _interchanged(subject))


def _interchanged(subject: Subject) -> Answer:
    require_readable(subject)
    source, names = subject.source, names_of(subject)
    loops = [loop for loop in loops_of(source.body, names) if _counts_from_zero(loop, names)]
    columns = {loop.atom: found for loop in loops if (found := _columns(loop, names))}
    require(columns, f"no access has the index {_THREAD} * K + j with j from 0 to K - 1")
    owners = [loop for loop in loops if loop.atom in columns]
    widths = {Polynomial.of(loop.bound, names) for loop in owners}
    require(len(widths) == 1, "loops give a thread different numbers of columns", owners[0].node)
    work = ColumnWork(names, loops, owners, [c.first for found in columns.values() for c in found])
    reason = work.objection(_THREAD)
    require(reason is None, f"{reason}", owners[0].node)

    name = fresh_name(subject, "SPREAD")
    width = _width(subject, names, source.text_of(owners[0].bound))
    edits = [edit for found in columns.values() for column in found for edit in _edits(column, width, names)]
    meaning = "0: blocked, a thread's columns are contiguous · 1: strided, adjacent threads have adjacent columns"
    choice = Tunable(name, (0, 1), 0, meaning, source.line_of(owners[0].node), likely=(1,))
    count = names.expression(owners[0].bound)
    several = () if count is None else (Rule(f"{count} > 1", "with one column per thread both layouts are the same"),)
    strided = replace(subject.variant, text=source.edited(*edits), rules=(*subject.variant.rules, *several))
    return Rewrite(subject.variant, choice, {1: strided})


def _counts_from_zero(loop: Loop, names: Names) -> bool:
    return loop.step is None and loop.ends_below and names.value(loop.start) == 0


def _columns(loop: Loop, names: Names) -> list[_Column]:
    width = Polynomial.of(loop.bound, names)
    if width == Polynomial.constant(1):
        return []
    first, index = Polynomial.atom(_THREAD) * width, Polynomial.atom(loop.atom)
    found: list[_Column] = []
    for node in sums_in(loop.body):
        terms = list(added_terms(node))
        of_thread = [t for t in terms if Polynomial.of(t, names) == first]
        of_index = [t for t in terms if Polynomial.of(t, names) == index]
        if len(of_thread) == 1 and len(of_index) == 1:
            found.append(_Column(of_thread[0], of_index[0]))
    return found


def _width(subject: Subject, names: Names, count: str) -> str:
    """The number of threads along x: a constant that divides by a thread's columns, or as the launch says, or `blockDim.x`."""
    extent = Geometry.of(subject, names).extents.get("blockDim.x")
    if extent is None:
        return spelled("blockDim.x", subject.source.language)
    root = subject.source.tree.root
    constants = {
        text_of(field(node, "declarator")): field(node, "value")
        for node in of_kind(root, "init_declarator")
        if node.parent is not None and node.parent.parent == root and "constexpr" in text_of(node.parent)
    }
    for name, value in {**constants, **names.source.scopes.macros}.items():
        # Of two constants that happen to be the same number, this is the one that is meant.
        if count in {text_of(n) for n in of_kind(value, "identifier")} and Polynomial.of(value, names) == extent:
            return name
    return operand(subject.variant.block[0])


def _edits(column: _Column, width: str, names: Names) -> list[Edit]:
    """The two terms change places: the block's width times j, and the thread."""
    text = names.source.text_of
    factors = [column.first]
    if column.first.type == "binary_expression":
        factors = [unwrapped(field(column.first, side)) for side in ("left", "right")]
    own = next((f for f in factors if Polynomial.of(f, names) == Polynomial.atom(_THREAD)), None)
    thread = text(own) if own is not None else spelled(_THREAD, names.source.language)
    return [
        Edit(column.first.start_byte, column.first.end_byte, f"{text(column.index)} * {width}"),
        Edit(column.index.start_byte, column.index.end_byte, thread),
    ]
