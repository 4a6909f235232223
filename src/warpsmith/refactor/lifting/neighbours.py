"""What a thread takes of its block's other threads: is it told by places in the grid, or by places in the block?

A tile in shared memory holds neighbours of the block's elements. A thread that reads the element at its own place, or so many
further, reads the same one wherever blocks end; one that reads the first of the block, the last, or all of them does not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from warpsmith.source.dataflow import base_name, dependents, identifiers
from warpsmith.source.geometry import subscripts_of
from warpsmith.source.loops import Loop, loops_of
from warpsmith.source.names import Names
from warpsmith.source.polynomial import Polynomial
from warpsmith.source.tree import ancestors, field, of_kind, text_of, unwrapped

if TYPE_CHECKING:
    from tree_sitter import Node

_DEEPEST = 40
_COMPARISONS = {"<", "<=", ">", ">=", "==", "!="}


def told_by_the_block(names: Names, shared: set[str]) -> Node | None:
    """The first read of the block's memory, or question about a thread, whose answer is another where blocks end elsewhere."""
    for axis in "xyz":
        found = _Axis(names, axis, shared)
        reads = (read for read in found.reads() if found.depends(read))
        answer = next(reads, None) or next(found.edges(), None)
        if answer is not None:
            return answer
    return None


class _Axis:
    """Blocks side by side along one axis, and the elements of shared memory that lie along it."""

    def __init__(self, names: Names, axis: str, shared: set[str]) -> None:
        self._names, self._axis, self._shared = names, axis, shared
        self._loops: dict[str, Loop] = {loop.atom: loop for loop in loops_of(names.source.body, names)}
        self._here = dependents({f"blockIdx.{axis}"}, [names.source.body], self._mentioned)
        # By array and dimension: how far apart neighbours along the axis lie. No dimension: there is one element for all.
        self._spacings: dict[str, set[tuple[int, Polynomial] | None]] = {}
        for store in of_kind(names.source.body, "assignment_expression"):
            self._add(unwrapped(field(store, "left")), field(store, "right"))

    def _add(self, place: Node, value: Node) -> None:
        name = base_name(place)
        if name not in self._shared or not self._is_of_block(value):
            return
        slots: list[tuple[int, Polynomial] | None] = []
        for number, index in enumerate(subscripts_of(place)[0]):
            spacing = self._spacing(Polynomial.of(index, self._names), self._axis)
            slots += [] if spacing is None else [(number, spacing)]
        if slots or place.type == "identifier":
            self._spacings.setdefault(name, set()).update(slots or [None])

    def reads(self) -> Iterator[Node]:
        """Of shared elements that lie along the axis, where they are not written."""
        for use in of_kind(self._names.source.body, "identifier"):
            if text_of(use) not in self._spacings:
                continue
            whole, parent = use, use.parent
            while parent is not None and parent.type == "subscript_expression" and field(parent, "argument") == whole:
                whole, parent = parent, parent.parent
            if parent is None or "declarator" in parent.type or parent.type == "declaration":
                continue
            if parent.type == "argument_list" and whole == use:
                continue  # all of it is given to a function, which `partition` asks about
            if parent.type == "assignment_expression" and field(parent, "left") == whole:
                continue
            yield whole

    def depends(self, read: Node) -> bool:
        """Whether the element is not at a fixed distance from the thread's own."""
        indices, base = subscripts_of(read)
        for slot in self._spacings[text_of(base)]:
            if slot is None:
                return True
            number, spacing = slot
            if number >= len(indices):
                return True
            index = Polynomial.of(indices[number], self._names)
            if not any(self._spacing(index, axis) == spacing for axis in "xyz") and not self._is_stored_there(index):
                return True
        return False

    def _is_stored_there(self, index: Polynomial) -> bool:
        """Whether a result goes where the element is: `out[blockIdx.x * T + T - 1 - threadIdx.x] = tile[T - 1 - threadIdx.x]`."""
        for store in of_kind(self._names.source.body, "assignment_expression"):
            place = unwrapped(field(store, "left"))
            if place.type != "subscript_expression" or base_name(place) in self._shared:
                continue
            inside = Polynomial.of(subscripts_of(place)[0][-1], self._names).without(f"blockIdx.{self._axis}")
            if not any(self._tells_block(atom) for atom in (inside - index).atoms):
                return True
        return False

    def _tells_block(self, atom: str) -> bool:
        return atom in self._names.parameters or re.search(r"threadIdx|blockDim|blockIdx", atom) is not None

    def edges(self) -> Iterator[Node]:
        """Questions whether a thread is near an end of its block, where they decide about anything but shared memory."""
        if not self._spacings:
            return
        for node in of_kind(self._names.source.body, "binary_expression"):
            if text_of(field(node, "operator")) not in _COMPARISONS or not self._is_at_an_edge(node):
                continue
            if any(base_name(target) not in self._shared for target in _decided(node)):
                yield node

    def _is_at_an_edge(self, comparison: Node) -> bool:
        left, right = (Polynomial.of(field(comparison, side), self._names) for side in ("left", "right"))
        difference, thread = left - right, f"threadIdx.{self._axis}"
        if not difference.mentions(thread) or not self._here.isdisjoint(self._mentioned(comparison)):
            return False
        extents = self._names.parameters | {f"blockDim.{self._axis}"}
        rest = difference.without(thread)
        # `threadIdx.x < TILE` asks whether it has a place in the tile at all.
        return bool(rest.atoms & extents) and len(rest.terms) > 1

    def _is_of_block(self, node: Node, depth: int = 0) -> bool:
        """Whether a value follows from the block's place. Fixed names are looked up: others may be called alike."""
        node = unwrapped(node)
        if depth > _DEEPEST:
            return True
        if node.type == "conditional_expression":  # whether there is an element is no matter of which one it is
            return any(self._is_of_block(field(node, side), depth + 1) for side in ("consequence", "alternative"))
        if node.type != "identifier":
            block = f"blockIdx.{self._axis}"
            children = [c for c in node.named_children if c.type not in {"comment", "field_identifier"}]
            return Polynomial.of(node, self._names).mentions(block) or any(self._is_of_block(c, depth + 1) for c in children)
        found = self._names.definition(node)
        if found.is_fixed and found.value is not None:
            return self._is_of_block(found.value, depth + 1)
        return text_of(node) in self._here

    def _spacing(self, index: Polynomial, axis: str) -> Polynomial | None:
        """What the thread's place counts for in an index, also by a loop over the tile that the block's threads share."""
        for atom in (f"threadIdx.{axis}", *(a for a in index.atoms if a in self._loops and self._deals(self._loops[a], axis))):
            found = index.coefficient(atom)
            if found is not None and found.terms:
                return found
        return None

    def _deals(self, loop: Loop, axis: str) -> bool:
        return Polynomial.of(loop.start, self._names).coefficient(f"threadIdx.{axis}") == Polynomial.constant(1)

    def _mentioned(self, node: Node) -> set[str]:
        block = f"blockIdx.{self._axis}"
        parts = of_kind(node, "field_expression", "call_expression", "identifier")
        asks = any(Polynomial.of(part, self._names).mentions(block) for part in parts)
        return {*identifiers(node), *([block] if asks else [])}


def _decided(comparison: Node) -> Iterator[Node]:
    """What is assigned under a condition, or gets a value chosen by it."""
    for above in ancestors(comparison):
        if above.type == "if_statement":
            inside = [a for a in of_kind(above, "assignment_expression") if a.start_byte > field(above, "condition").end_byte]
            yield from (unwrapped(field(a, "left")) for a in inside)
            return
        if above.type == "assignment_expression":
            yield unwrapped(field(above, "left"))
            return
        if above.type == "init_declarator":
            yield field(above, "declarator")
            return
        if above.type in {"for_statement", "while_statement", "do_statement", "compound_statement"}:
            return
