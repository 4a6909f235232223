"""Writes loops over a thread's own elements anew: the loops that pick an element around all others, with its check.

    for (d …) for (i …) sums[i] += x[i][d];      becomes      for (i …) { if (row + i < m) { for (d …) sums[i] += x[i][d]; } }

When that is right is said by `source.own_elements`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from warpsmith.refactor.writing import indented, joined_if
from warpsmith.source import Edit
from warpsmith.source.own_elements import OwnElements
from warpsmith.source.statements import text_between
from warpsmith.source.tree import Tree

if TYPE_CHECKING:
    from tree_sitter import Node

_DIRECTIVES = frozenset({"preproc_call", "preproc_if", "preproc_ifdef", "preproc_else", "preproc_elif"})


def with_directives(loop: Node) -> Node:
    """The loop's first pragma, or the `#if` that one stands under; the loop itself where it has none."""
    start, before = loop, loop.prev_sibling
    while before is not None and before.type in _DIRECTIVES:
        start, before = before, before.prev_sibling
    return start


def one_by_one(tree: Tree, start: int, region: Node, elements: OwnElements) -> str:
    """The text from `start` to the region's end with its elements' loops outermost. They are unrolled: elements are registers."""
    blanks = tree.indentation(region)
    edits = _without_headers(tree, elements, start)
    inner = rolled(tree, start, region, elements, edits)
    lines = [f"{blanks}// Some of it lies outside: one element after the other, and only those that somebody stores."]
    depth = 0
    for counter in elements.counters:
        header = tree.data[counter.node.start_byte : counter.body.start_byte].decode().strip()
        lines += ["#pragma unroll", f"{blanks}{'  ' * depth}{header} {{"]
        depth += 1
    lines += joined_if(elements.stored, blanks + "  " * depth)
    lines.append(indented(inner, 2 * (depth + 1)))
    lines += [f"{blanks}{'  ' * level}}}" for level in range(depth, -1, -1)]
    return "\n".join(lines)


def rolled(tree: Tree, start: int, region: Node, elements: OwnElements, edits: Sequence[Edit] = ()) -> str:
    """The text after the edits, not unrolled: there are several copies of it, and edges would take longer to compile than all
    else.
    """
    again = [Edit(start, tree.line_start(region), "#pragma unroll 1\n")] if elements.is_rolled else []
    return text_between(tree, start, region.end_byte, [*edits, *again])


def _without_headers(tree: Tree, elements: OwnElements, floor: int) -> list[Edit]:
    """Where one loop is all that another has in it, without braces, each edit ends where the next begins."""
    found = [_header(tree, counter.node, counter.body, floor) for counter in elements.counters]
    for at, (edit, following) in enumerate(pairwise(found)):
        if following.start < edit.end:
            found[at] = Edit(edit.start, following.start, "")
    return found


def _header(tree: Tree, loop: Node, body: Node, floor: int) -> Edit:
    """Leaves the loop's body alone there. Its pragmas go, too: they would be for whatever comes next."""
    first = with_directives(loop)
    line = tree.line_start(first)
    if tree.data[line : first.start_byte].strip():
        return Edit(first.start_byte, body.start_byte, "")
    return Edit(max(line, floor), body.start_byte, tree.indentation(loop))
