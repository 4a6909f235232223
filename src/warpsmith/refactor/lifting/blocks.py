"""Does a kernel work for any number of threads along an axis of its block? What it then needs to be told, and what must hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from warpsmith.refactor.base import Rule
from warpsmith.refactor.extents import tidy
from warpsmith.refactor.lifting.threads import ThreadUse, Use, needed_threads, thread_uses
from warpsmith.refactor.preconditions import REQUIRED_BLOCK
from warpsmith.source import Edit
from warpsmith.source.arrays import Array, arrays_of
from warpsmith.source.geometry import subscripts_of
from warpsmith.source.loops import LoopKind, loops_of
from warpsmith.source.names import Names
from warpsmith.source.polynomial import Polynomial
from warpsmith.source.threads import teamwork
from warpsmith.source.tree import ancestors, is_within, of_kind, text_of
from warpsmith.source.tree import field as field_of
from warpsmith.source.work_group_attribute import required_sizes

if TYPE_CHECKING:
    from tree_sitter import Node

_HARMLESS = {Use.STRIDED, Use.FIRST, Use.HALVING, Use.LANE}  # a lane's number says nothing of how many warps there are


@dataclass(slots=True)
class Freedom:
    """Along one axis. `problem` says why the number of threads is not free; else `edits` and `rules` make it so."""

    axis: str
    parameter: str
    problem: str | None = None
    needs_grid: bool = False  # blocks lie side by side: the grid must follow
    edits: list[Edit] = field(default_factory=list)
    rules: list[Rule] = field(default_factory=list)
    dynamic_bytes: int = 0  # of dynamic shared memory for each thread


def freedom(names: Names, axis: str, parameter: str, value: int, warp_size: int, *, of_warps: bool = False) -> Freedom:
    """`of_warps`: what the axis counts are whole warps, so that lanes stay together whatever their number."""
    found = Freedom(axis, parameter)
    arrays = {array.name: array for array in arrays_of(names) if array.is_shared}
    if teamwork(names.source).by_warps and value <= warp_size and not of_warps:
        found.problem = f"its {value} threads along {axis} form one warp that exchanges values"
        return found
    for use in thread_uses(names, axis):
        _admit(found, use, names, arrays, value, warp_size)
        if found.problem is not None:
            return found
    replaced = {(e.start, e.end) for e in found.edits}
    for node in _literals(names, value):
        if (node.start_byte, node.end_byte) not in replaced:
            found.problem = f"line {names.source.line_of(node)} uses {value}, which may be the number of threads"
            return found
    _follow_required(found, names, value)
    return found


def _follow_required(found: Freedom, names: Names, value: int) -> None:
    """The parameter in the place of the number that `reqd_work_group_size` has for the axis."""
    sizes = required_sizes(names.source)
    if sizes is None:
        return
    size = sizes["xyz".index(found.axis)] if sizes else None
    macro = names.source.scopes.macros.get(size.text) if size else None
    if size is not None and (size.text == str(value) or (macro is not None and names.value(macro) == value)):
        found.edits.append(Edit(size.start, size.end, found.parameter))
    else:
        found.problem = REQUIRED_BLOCK


def _admit(found: Freedom, use: ThreadUse, names: Names, arrays: dict[str, Array], value: int, warp_size: int) -> None:
    line = names.source.line_of(use.node)
    if use.kind is Use.HALVING and value & (value - 1):
        found.problem = f"line {line} halves a block whose size is not a power of two"
    if use.kind in _HARMLESS:
        return
    array, needed = arrays.get(indexed_array(use.node)), needed_threads(use, names)
    if use.kind is Use.FLAT and needed is None:
        found.needs_grid = True
    elif use.kind is not Use.FLAT and needed is not None:
        found.rules.append(Rule(f"{found.parameter} >= {needed}", f"line {line} needs the first {needed} threads"))
    elif use.kind is Use.SLOT and array is not None:
        _make_room(found, use, names, array, value)
    elif use.kind is Use.WARP and array is not None:
        extent = indexed_extent(use.node, array)
        slots = None if extent is None else names.value(extent)
        if slots is None:
            found.problem = f"{array.name} has a slot for each warp, and the number of slots is unknown (line {line})"
        else:
            expression = f"{found.parameter} <= {slots * warp_size}"
            found.rules.append(Rule(expression, f"{array.name} has a slot for each of at most {slots} warps (line {line})"))
    elif use.kind is Use.WARP and not any(use.polynomial.mentions(f"blockIdx.{a}") for a in "xyz") and _is_asked(use.node):
        pass
    else:
        found.problem = f"line {line} uses {text_of(use.node)} in a way that may require the same number of threads"


def _make_room(found: Freedom, use: ThreadUse, names: Names, array: Array, value: int) -> None:
    """An array with one element for each thread gets as many as there are threads."""
    line = names.source.line_of(use.node)
    if array.is_dynamic:
        size = names.size_of(array.element)
        if size is None:
            found.problem = f"the element size of {array.name} is unknown (line {line})"
        else:
            found.dynamic_bytes = max(found.dynamic_bytes, size)
        return
    extent = indexed_extent(use.node, array)
    if extent is None:
        found.problem = f"line {line} indexes {array.name} with another number of dimensions than declared"
        return
    tokens = [n for n in of_kind(extent, "number_literal") if text_of(n) == str(value)]
    room = names.value(extent)
    if len(tokens) == 1:
        edit = Edit(tokens[0].start_byte, tokens[0].end_byte, found.parameter)
        if edit not in found.edits:
            found.edits.append(edit)
    elif room is not None and use.polynomial == Polynomial.atom(f"threadIdx.{found.axis}"):
        found.rules.append(Rule(f"{found.parameter} <= {room}", f"{array.name} has room for {room} threads"))
    else:
        found.problem = f"{array.name} may not have room for more threads (line {line})"


def follow_bounds(names: Names, extent: str, parameter: str, value: int) -> Iterator[Edit | Rule]:
    """What __launch_bounds__ says of a block of one axis: the same number follows, any other one is a promise to keep."""
    for first in _launch_bounds(names):
        if text_of(first) == str(value):
            yield Edit(first.start_byte, first.end_byte, parameter)
            return
    yield from promised_threads(names, [extent])


def promised_threads(names: Names, extents: Sequence[str]) -> Iterator[Rule]:
    for first in _launch_bounds(names):
        if (most := names.expression(first)) is not None:
            threads = tidy(" * ".join(f"({e})" for e in extents))
            yield Rule(f"{threads} <= {tidy(most)}", f"__launch_bounds__ promises at most {tidy(most)} threads")


def _launch_bounds(names: Names) -> list[Node]:
    return [c.named_children[0] for c in names.source.function.children if c.type == "launch_bounds"]


def indexed_array(node: Node) -> str:
    """The name of the array that the expression is an index of."""
    parent = node.parent
    while parent is not None and parent.type in {"parenthesized_expression", "subscript_argument_list"}:
        parent = parent.parent
    if parent is None or parent.type != "subscript_expression":
        return ""
    _, base = subscripts_of(parent)
    return text_of(base)


def indexed_extent(index: Node, array: Array) -> Node | None:
    """The size of the dimension that the expression is the index of."""
    whole = [a for a in ancestors(index) if a.type == "subscript_expression" and text_of(subscripts_of(a)[1]) == array.name]
    indices = subscripts_of(whole[-1])[0] if whole else []
    number = next((n for n, other in enumerate(indices) if is_within(index, other)), len(array.extents))
    return array.extents[number] if number < len(array.extents) else None


def _is_asked(node: Node) -> bool:
    """Compared with something, or handed to a function: not turned into a place in memory."""
    parent = node.parent
    while parent is not None and parent.type == "parenthesized_expression":
        parent = parent.parent
    if parent is None:
        return False
    if parent.type == "binary_expression":
        return text_of(field_of(parent, "operator")) in {"==", "!=", "<", "<=", ">", ">="}
    return parent.type in {"argument_list", "unary_expression", "condition_clause"}


def _literals(names: Names, value: int) -> Iterator[Node]:
    """Where the source says this number, in the kernel and what it reaches."""
    if value < 8:
        return  # small numbers stand for too many things
    for body in names.source.reached():
        for node in of_kind(body, "number_literal", "identifier"):
            # A name that stands for it counts too: `kThreads` is what the author calls it.
            says = text_of(node) == str(value) if node.type == "number_literal" else names.value(node) == value
            if says and not _counts_elements(node, names):
                yield node


def _counts_elements(node: Node, names: Names) -> bool:
    """The end of a loop that threads share, or the size of an array: how many elements there are, not how many threads."""
    for outer in ancestors(node):
        if outer.type == "array_declarator":
            return True
        if outer.type == "for_statement":
            loop = next(loops_of(outer, names), None)
            strided = loop is not None and loop.kind in {LoopKind.BLOCK_STRIDE, LoopKind.GRID_STRIDE}
            return strided and loop is not None and is_within(node, loop.bound)
    return False
