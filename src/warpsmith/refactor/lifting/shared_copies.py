"""Is what a block keeps in shared memory only a copy, that every thread reads at a fixed distance from its own place?

Then it says the same wherever blocks end: `tile[threadIdx.x + 1]` is the next element of global memory. What threads make of each
other's values there (a sum, a scan, a vote), and the first element of a block, are others in a block of another size.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from warpsmith.source.dataflow import base_name, dependents, identifiers
from warpsmith.source.effects import sharing_calls
from warpsmith.source.geometry import subscripts_of
from warpsmith.source.loops import Loop, loops_of
from warpsmith.source.names import Names
from warpsmith.source.polynomial import Polynomial
from warpsmith.source.tree import field, of_kind, text_of, unwrapped

if TYPE_CHECKING:
    from tree_sitter import Node

_DEEPEST = 40
_OF_LANGUAGE = re.compile(
    r"__|(?:f?m(?:in|ax)|fma|exp|log|sqrt|rsqrt|abs|fabs|pow)f?$|(?:static|reinterpret)_cast\b|(?:u?int|float)$"
)
_VOTE = re.compile(r"__syncthreads_(?:and|or|count)|work_group_(?:all|any|broadcast|reduce_\w+|scan_\w+)")


def shared_by_block(names: Names, axis: str, shared: Collection[str]) -> Node | None:
    """The first use that makes it matter which elements share a block."""
    body = names.source.body
    vote = next((c for c in of_kind(body, "call_expression") if _VOTE.fullmatch(text_of(field(c, "function")))), None)
    vote = vote or next((call for _, call in sharing_calls(body, names)), None)
    if vote is not None or not shared:
        return vote
    taken = dependents(shared, [body])
    for store in of_kind(body, "assignment_expression"):
        again = text_of(field(store, "operator")) != "=" or not taken.isdisjoint(identifiers(field(store, "right")))
        if base_name(unwrapped(field(store, "left"))) in shared and again:
            return store
    return next(_handed_on(names, shared), None) or _Copies(names, axis, shared).moved()


def _handed_on(names: Names, shared: Collection[str]) -> Iterator[Node]:
    """Calls that get more of it than the value of an element."""
    for call in of_kind(names.source.body, "call_expression"):
        uses = [use for use in of_kind(field(call, "arguments"), "identifier") if text_of(use) in shared]
        if uses and not _OF_LANGUAGE.match(text_of(field(call, "function"))):
            called = names.source.functions(text_of(field(call, "function")))
            parameters = [
                text_of(field(d, "parameters")) for function in called for d in of_kind(function, "function_declarator")
            ]
            by_value = parameters and not any(re.search(r"[&*\[]|\bauto\b|\.\.\.", text) for text in parameters)
            if not by_value:
                yield call


class _Copies:
    """Elements of shared memory that lie along one axis of the block."""

    def __init__(self, names: Names, axis: str, shared: Collection[str]) -> None:
        self._names, self._axis = names, axis
        self._body = names.source.body
        self._loops: dict[str, Loop] = {loop.atom: loop for loop in loops_of(self._body, names)}
        self._here = dependents({f"blockIdx.{axis}"}, [self._body], self._mentioned)
        # By array, dimension and how far apart neighbours lie in it. No dimension: there is one element for all of the block.
        self._spacings: dict[str, set[tuple[int, Polynomial] | None]] = {}
        for store in of_kind(self._body, "assignment_expression"):
            indices, base = subscripts_of(unwrapped(field(store, "left")))
            if text_of(base) in shared and self._is_of_block(field(store, "right")):
                spacings = [(number, self._spacing(index, axis)) for number, index in enumerate(indices)]
                slots = {(number, spacing) for number, spacing in spacings if spacing is not None}
                self._spacings.setdefault(text_of(base), set()).update(slots or {None})

    def moved(self) -> Node | None:
        """The first read that is not at a fixed distance from the thread's own element."""
        for use in of_kind(self._body, "identifier"):
            access, parent = use, use.parent
            while parent is not None and parent.type == "subscript_expression" and field(parent, "argument") == access:
                access, parent = parent, parent.parent
            is_target = parent is not None and parent.type == "assignment_expression" and field(parent, "left") == access
            if parent is None or "declarator" in parent.type or parent.type == "declaration" or is_target:
                continue
            indices = subscripts_of(access)[0]
            for slot in self._spacings.get(text_of(use), ()):
                if slot is None or slot[0] >= len(indices):
                    return access
                if all(self._spacing(indices[slot[0]], axis) != slot[1] for axis in "xyz"):
                    return access
        return None

    def _spacing(self, index: Node, axis: str) -> Polynomial | None:
        """What the thread's place counts for in an index, also by a loop over the tile that the block's threads share."""
        place = Polynomial.of(index, self._names)
        strided = (a for a in place.atoms if a in self._loops and self._is_distributed(self._loops[a], axis))
        found = (place.coefficient(atom) for atom in (f"threadIdx.{axis}", *strided))
        return next((apart for apart in found if apart is not None and apart.terms), None)

    def _is_distributed(self, loop: Loop, axis: str) -> bool:
        return Polynomial.of(loop.start, self._names).coefficient(f"threadIdx.{axis}") == Polynomial.constant(1)

    def _is_of_block(self, node: Node, depth: int = 0) -> bool:
        """Whether a value follows from the block's place. Fixed names are looked up: others may be called alike."""
        node = unwrapped(node)
        if depth > _DEEPEST:
            return True
        if node.type == "conditional_expression":  # whether there is an element does not say which one it is
            return any(self._is_of_block(field(node, side), depth + 1) for side in ("consequence", "alternative"))
        if node.type != "identifier":
            children = [c for c in node.named_children if c.type not in {"comment", "field_identifier"}]
            here = Polynomial.of(node, self._names).mentions(f"blockIdx.{self._axis}")
            return here or any(self._is_of_block(c, depth + 1) for c in children)
        found = self._names.definition(node)
        if found.is_fixed and found.value is not None:
            return self._is_of_block(found.value, depth + 1)
        return text_of(node) in self._here

    def _mentioned(self, node: Node) -> set[str]:
        block = f"blockIdx.{self._axis}"
        parts = of_kind(node, "field_expression", "call_expression", "identifier")
        asks = any(Polynomial.of(part, self._names).mentions(block) for part in parts)
        return {*identifiers(node), *([block] if asks else [])}
