"""Work that the source gives to the first so many threads of a block: another block must have as many.

`if (threadIdx.x < radius)`, `if (taps > tid)`, `if (tid >= 32) return`: one thread for each of so many things. How many may be a
number, another constant, or an argument that kernel.toml knows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from warpsmith.refactor.base import Rule, Subject
from warpsmith.refactor.extents import names_of, same, substituted, tidy, value_at
from warpsmith.refactor.lifting.linking import AXES
from warpsmith.refactor.lifting.symbolic import Symbolic
from warpsmith.refactor.lifting.threads import needed_threads, thread_uses
from warpsmith.source.comparisons import comparisons
from warpsmith.source.geometry import as_text
from warpsmith.source.polynomial import Polynomial
from warpsmith.source.tree import field, text_of, unwrapped

if TYPE_CHECKING:
    from tree_sitter import Node

_DEEPEST = 40


def first_threads(subject: Subject, lifted: Symbolic, block: Sequence[str]) -> Iterator[Rule]:
    """What each of them asks of the block, where the author's block has it on every workload."""
    for axis, extent in zip(AXES, block, strict=False):
        for use in thread_uses(lifted.names, axis) if _is_lifted(extent, lifted) else ():
            needed = needed_threads(use, lifted.names)
            if needed is not None:
                line = lifted.source.line_of(use.node)
                yield Rule(f"{extent} >= {needed}", f"line {line} needs the first {needed} threads")
    for threads, last, line in _bounded(lifted, block):
        needed_of_them = tidy(last)
        rule = f"{threads} >= {needed_of_them}"
        if not _is_lifted(threads, lifted) or names_of(needed_of_them) & names_of(threads):
            continue
        if all(value_at(rule, case) == 1 for case in lifted.cases(subject.kernel)):
            yield Rule(rule, f"line {line} needs the first {needed_of_them} threads")


def _is_lifted(extent: str, lifted: Symbolic) -> bool:
    return bool(names_of(extent) & lifted.constants.keys())


def _bounded(lifted: Symbolic, block: Sequence[str]) -> Iterator[tuple[str, str, int]]:
    """Comparisons of what follows from a thread's number: how many threads there are, where the answer changes, the line."""
    for thread, other, asked in comparisons(lifted.source):
        limit = lifted.names.expression(other)
        end = limit if limit is None or asked in {"<", ">="} else f"({limit}) + 1"
        solved = None if end is None else _solved(thread, end, lifted, block)
        if solved is not None:
            yield *solved, lifted.source.line_of(other)


def _solved(node: Node, limit: str, lifted: Symbolic, block: Sequence[str], depth: int = 0) -> tuple[str, str] | None:
    """How many threads there are, and from which on the node is no longer below the limit: `2 * tid + 1`, 8 → from 4 on."""
    node, names = unwrapped(node), lifted.names
    if (threads := numbered(Polynomial.of(node, names), block)) is not None:
        return threads, limit
    found = names.definition(node) if node.type == "identifier" else None
    inner = field(node, "value") if names.is_cast(node) else found.value if found is not None and found.is_fixed else None
    if inner is not None and depth <= _DEEPEST:
        return _solved(inner, limit, lifted, block, depth + 1)
    if node.type != "binary_expression" or depth > _DEEPEST:
        return None
    left, right, operator = field(node, "left"), field(node, "right"), text_of(field(node, "operator"))
    before, after = names.expression(left), names.expression(right)
    one, text = (left, after) if after is not None else (right, before)
    if text is None:
        return None
    match operator:
        case "+":
            moved = f"({limit}) - ({text})"
        case "-":  # 255 - tid < k is asked of the threads from 256 - k on
            moved = f"({limit}) + ({text})" if one is left else f"({text}) - ({limit}) + 1"
        case "*" if (value_at(text, lifted.defaults) or 0) > 0:
            moved = f"ceildiv({limit}, {text})"
        case _:
            return None
    return _solved(one, moved, lifted, block, depth + 1)


def numbered(place: Polynomial, block: Sequence[str]) -> str | None:
    """How many threads are numbered so, from 0 on: those along an axis, or `threadIdx.y * blockDim.x + threadIdx.x`."""
    extents = {f"blockDim_{axis}": extent for axis, extent in zip(AXES, block, strict=False)}
    axes = [axis for axis in AXES if place.mentions(f"threadIdx.{axis}")]
    together = "1"
    for number, axis in enumerate(axes):
        apart = place.coefficient(f"threadIdx.{axis}")
        text = None if apart is None else as_text(apart)
        if text is None or not same(substituted(text, extents), together) or AXES.index(axis) >= len(block):
            return None
        place = place.without(f"threadIdx.{axis}")
        following = number + 1 < len(axes)
        if following and axes[number + 1] != AXES[AXES.index(axis) + 1]:
            return None  # threads along the axis between them have the same numbers
        together = tidy(f"({together}) * ({block[AXES.index(axis)]})")
    return together if axes and not place.terms else None
