"""Where a kernel asks which thread it is, and whether the number of threads matters there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING

from warpsmith.source.loops import Loop, LoopKind, loops_of
from warpsmith.source.maximal_expressions import ARITHMETIC, is_alias, outer, whole_expressions
from warpsmith.source.names import Names
from warpsmith.source.polynomial import Polynomial
from warpsmith.source.scopes import Origin
from warpsmith.source.tree import ancestors, field, is_within, of_kind, text_of, unwrapped

if TYPE_CHECKING:
    from tree_sitter import Node


class Use(StrEnum):
    STRIDED = "strided"  # the start of a loop that steps by the block's or the grid's extent
    FLAT = "flat"  # the thread's place in the grid
    FIRST = "first"  # `threadIdx.x == 0`
    WARP = "warp"  # the number of the thread's warp
    LANE = "lane"  # the thread's place in its warp
    SLOT = "slot"  # the index of an array in shared memory
    HALVING = "halving"  # compared with a number that starts at half a block and is halved
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class ThreadUse:
    kind: Use
    node: Node
    polynomial: Polynomial
    axis: str


@lru_cache(maxsize=16)  # asked for again and again of the same kernel
def thread_uses(names: Names, axis: str) -> tuple[ThreadUse, ...]:
    """Every expression that depends on the thread's place along an axis; a name that only stands for one is looked through."""
    return tuple(_thread_uses(names, axis))


def _thread_uses(names: Names, axis: str) -> Iterator[ThreadUse]:
    for body in names.source.reached():
        loops = {loop.node.start_byte: loop for loop in loops_of(body, names)}
        for node in whole_expressions(body, ARITHMETIC):
            polynomial = Polynomial.of(node, names)
            # What is inside [] or a call's () is an expression of its own, with its own turn.
            if f"threadIdx.{axis}" in _outside(str(polynomial)) and not is_alias(node, names):
                yield ThreadUse(_kind(node, polynomial, axis, names, loops), node, polynomial, axis)


def needed_threads(use: ThreadUse, names: Names) -> int | None:
    """How many threads `if (threadIdx.x < 64)`, or `== 63`, asks for, where the use is that comparison or what depends on it."""
    thread = Polynomial.atom(f"threadIdx.{use.axis}")
    for above in ancestors(use.node):
        if above.type != "if_statement" or _is_otherwise(use.node, above):
            continue
        for node in of_kind(field(above, "condition"), "binary_expression"):
            operator, most = text_of(field(node, "operator")), names.value(field(node, "right"))
            if most is None or operator not in {"<", "=="} or Polynomial.of(field(node, "left"), names) != thread:
                continue
            if operator == "<" or most > 0:
                return most + (operator == "==")
    return None


def _is_otherwise(node: Node, branch: Node) -> bool:
    other = branch.child_by_field_name("alternative")
    return other is not None and is_within(node, other)


def unexplained_threads(names: Names) -> str | None:
    """Why the number of accesses could depend on the launch: threads that do one each instead of striding over them."""
    for axis in "xyz":
        for use in thread_uses(names, axis):
            if use.kind in {Use.FLAT, Use.OTHER}:
                line, place = names.source.line_of(use.node), text_of(use.node)
                return f"line {line} gives each thread one index ({place}), and the launch does not show the width of an access"
    return None


def _kind(node: Node, polynomial: Polynomial, axis: str, names: Names, loops: dict[int, Loop]) -> Use:  # noqa: PLR0911 - one return for each kind
    thread = f"threadIdx.{axis}"
    loop = next((loops[a.start_byte] for a in ancestors(node) if a.type == "for_statement" and a.start_byte in loops), None)
    if loop is not None and unwrapped(loop.start) == unwrapped(node):
        strided = loop.kind in {LoopKind.BLOCK_STRIDE, LoopKind.GRID_STRIDE} and loop.axis == axis
        if strided or _strides_over_the_block(loop, polynomial, names) or _strides_over_warps(loop, polynomial, axis, names):
            return Use.STRIDED
        return Use.LANE if _place(polynomial, axis) is Use.LANE else Use.OTHER
    place = _place(polynomial, axis)
    if place is not None:
        return place
    if _follows_from_place(node, axis, names):
        return Use.FLAT
    parent = outer(node)
    if parent is not None and parent.type == "binary_expression" and polynomial == Polynomial.atom(thread):
        operator = text_of(field(parent, "operator"))
        other = field(parent, "right") if unwrapped(field(parent, "left")) == unwrapped(node) else field(parent, "left")
        if operator in {"==", "!="} and names.value(other) == 0:
            return Use.FIRST
        if operator == "<" and _is_halved(other, axis, names):
            return Use.HALVING
    if parent is not None and parent.type in {"subscript_argument_list", "subscript_expression"}:
        return Use.SLOT
    if parent is not None and parent.type == "unary_expression" and text_of(parent).startswith("!"):
        return Use.FIRST
    return Use.OTHER


def _place(polynomial: Polynomial, axis: str) -> Use | None:
    """The thread's or its warp's place in the grid, its lane, its warp: where nothing else is said of the thread."""
    if _is_flat(polynomial, axis):
        return Use.FLAT
    thread, text, is_flat = f"threadIdx.{axis}", _outside(str(polynomial)), False
    for own, extent in _units(axis):
        for blocks in "xyz":
            flat = f"{extent}*blockIdx.{blocks}+{own}"
            is_flat = is_flat or flat in text
            text = text.replace(flat, "")
    text = re.sub(rf"\({re.escape(thread)}(?:%32|&31)\)", "", text)
    if thread not in text:
        return Use.FLAT if is_flat else Use.LANE
    return Use.WARP if thread not in re.sub(rf"\({re.escape(thread)}(?:/32|>>5)\)", "", text) else None


def _follows_from_place(node: Node, axis: str, names: Names) -> bool:
    """Whether all that it says of the thread is its place in the grid: of `in_range(x) ? v[x - 1] / 2 : 0`, `x` is."""
    node = unwrapped(node)
    polynomial = Polynomial.of(node, names)
    if not polynomial.mentions(f"threadIdx.{axis}") or _is_flat(polynomial, axis):
        return True
    found = names.definition(node) if node.type == "identifier" else None
    if found is not None and found.value is not None:
        return _follows_from_place(found.value, axis, names)
    parts = [] if names.builtin(node) is not None else node.named_children
    return bool(parts) and all(_follows_from_place(part, axis, names) for part in parts)


def _is_flat(polynomial: Polynomial, axis: str) -> bool:
    for own, extent in _units(axis):
        weight = polynomial.coefficient(own)
        shares = (polynomial.coefficient(f"blockIdx.{blocks}") for blocks in "xyz")
        if weight is not None and weight.terms and weight * Polynomial.atom(extent) in shares:
            return True
    return False


def _units(axis: str) -> Iterator[tuple[str, str]]:
    """A thread, or a warp of them, and how many a block has."""
    yield f"threadIdx.{axis}", f"blockDim.{axis}"
    for group in ("/32", ">>5"):
        yield f"(threadIdx.{axis}{group})", f"(blockDim.{axis}{group})"


def _strides_over_the_block(loop: Loop, start: Polynomial, names: Names) -> bool:
    """`for (int i = threadIdx.y * blockDim.x + threadIdx.x; …; i += blockDim.x * blockDim.y)`."""
    width, height = Polynomial.atom("blockDim.x"), Polynomial.atom("blockDim.y")
    place = Polynomial.atom("threadIdx.x") + Polynomial.atom("threadIdx.y") * width
    rest = start - place
    uniform = not any(rest.mentions(f"threadIdx.{a}") for a in "xyz")
    return uniform and loop.step is not None and Polynomial.of(loop.step, names) == width * height


def _strides_over_warps(loop: Loop, start: Polynomial, axis: str, names: Names) -> bool:
    """`for (int row = threadIdx.x / 32; …; row += blockDim.x / 32)`."""
    step = None if loop.step is None else Polynomial.of(loop.step, names)
    warps = [(own, extent) for own, extent in _units(axis) if step == Polynomial.atom(extent)]
    return any(start.coefficient(own) == Polynomial.constant(1) for own, _ in warps)


def _outside(text: str) -> str:
    """The text without what stands in square brackets, or in the brackets of a call."""
    kept, depth, closing = "", 0, list[str]()
    for number, character in enumerate(text):
        if character in "([":
            hides = character == "[" or (number > 0 and (text[number - 1].isalnum() or text[number - 1] in "_>"))
            closing.append("hidden" if hides else "")
            depth += hides
        if not depth:
            kept += character
        if character in ")]" and closing:
            depth -= closing.pop() == "hidden"
    return kept


def _is_halved(node: Node, axis: str, names: Names) -> bool:
    """A loop's variable that starts at half a block: `for (int s = blockDim.x / 2; s > 0; s >>= 1)`."""
    node = unwrapped(node)
    if node.type != "identifier":
        return False
    found = names.definition(node)
    value = None if found.node is None else found.node.child_by_field_name("value")
    if found.origin is not Origin.LOOP or value is None:
        return False
    start = str(Polynomial.of(value, names))
    halves = {f"(blockDim.{axis}/2)", f"(blockDim.{axis}>>1)"}
    return start in halves
