"""Is it proved that results do not depend on how work is distributed over blocks along an axis?

It is where a thread's place in its block, and a block's place in the grid, are used in the ways listed here and in no other:

- together, as a place in the grid: `blockIdx.x * T + threadIdx.x`, with the block's size between neighbouring blocks;
- to begin a loop that steps by the block's size, whose steps do not depend on each other;
- to index memory that the block shares, where its threads read copies, or what all of them combine by steps that follow the
  block's size;
- where every block has a piece of its own, whatever its size: to single out its first thread.

All other uses may be right as well. Then the size of a block is conjectured: devices try it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING

from warpsmith.refactor.extents import names_of, same, substituted, tidy
from warpsmith.refactor.lifting.excess_threads import effects
from warpsmith.refactor.lifting.shared_copies import shared_by_block
from warpsmith.refactor.lifting.threads import ThreadUse, Use, thread_uses
from warpsmith.source.arrays import arrays_of
from warpsmith.source.comparisons import comparisons
from warpsmith.source.dataflow import base_name, dependents, exits, identifiers, is_in_inner_loop
from warpsmith.source.geometry import as_text, subscripts_of
from warpsmith.source.independence import carried
from warpsmith.source.loops import Loop, LoopKind, loops_of
from warpsmith.source.maximal_expressions import ARITHMETIC, is_alias, whole_expressions
from warpsmith.source.names import Names
from warpsmith.source.polynomial import Polynomial
from warpsmith.source.threads import teamwork
from warpsmith.source.tree import LOOPS, ancestors, field, is_within, of_kind, text_of, unwrapped

if TYPE_CHECKING:
    from tree_sitter import Node

_DEEPEST = 40
_OWN_PIECE = {Use.STRIDED, Use.FIRST, Use.LANE, Use.WARP, Use.SLOT, Use.HALVING}


class Distribution:
    """Over the threads along an axis of the block, and over `blocks`, the axis of the grid that counts them by their size.

    `blocks` is empty where each has a piece of its own. `extents` are the block's (`blockDim_x`, …) in terms of `sizes`.
    """

    def __init__(self, names: Names, axis: str, blocks: str, extents: Mapping[str, str], sizes: Collection[str]) -> None:
        self._names, self._axis, self._blocks, self._extents = names, axis, blocks, extents
        self._parameters = frozenset(sizes)
        self._sizes = {*sizes, *(f"blockDim.{name[-1]}" for name, text in extents.items() if names_of(text) & self._parameters)}
        self._extent = extents[f"blockDim_{axis}"]
        self._shared = {array.name for array in arrays_of(names) if array.is_shared}
        single = (n for node in teamwork(names.source).shared for n in node.children_by_field_name("declarator"))
        self._shared |= {base_name(n) for n in single} - {""}
        loops = [loop for body in names.source.reached() for loop in loops_of(body, names)]
        self._loops = {loop.atom: loop for loop in loops}
        self._strided = [loop for loop in loops if loop.kind in {LoopKind.BLOCK_STRIDE, LoopKind.GRID_STRIDE}]

    def unproved(self) -> str | None:
        """The first use that is none of these."""
        telling = teamwork(self._names.source).telling
        if telling is not None:
            return f"the kernel uses {telling.strip(' .(')}, which may distinguish threads in ways that are not analysed"
        if (steps := dependent_steps(self._names, self._axis)) is not None:
            return steps
        for use in thread_uses(self._names, self._axis):
            if not self._is_known(use):
                return f"line {self._line(use.node)} uses a thread's index in its block ({text_of(use.node)})"
        if self._blocks:
            return self._of_blocks() or self._of_copies()
        return self._of_grid_stride() or self._of_pieces()

    def _line(self, node: Node) -> int:
        return self._names.source.line_of(node)

    # ── a thread's place ──

    def _is_known(self, use: ThreadUse) -> bool:
        if self._strides(use.node) or self._indexes_shared(use.node) or self._fills_shared(use.node):
            return True
        if self._blocks:
            return self._is_told_by_place(use.node)
        if use.kind is Use.FIRST:  # of a block; which element it has is told by the block's size
            return not any(is_within(use.node, loop.body) for loop in self._strided)
        return use.kind in _OWN_PIECE

    def _strides(self, node: Node) -> bool:
        """The start of a loop that steps by the threads that are numbered so."""
        around = next((a for a in ancestors(node) if a.type == "for_statement"), None)
        loop = None if around is None else next(loops_of(around, self._names), None)
        if loop is None or loop.node != around or loop.step is None or unwrapped(loop.start) != unwrapped(node):
            return False
        start, step = Polynomial.of(loop.start, self._names), self._text(Polynomial.of(loop.step, self._names))
        apart = self._text(start.coefficient(f"threadIdx.{self._axis}"))
        return step is not None and apart is not None and bool(names_of(step) & self._parameters)

    def _is_told_by_place(self, node: Node, depth: int = 0) -> bool:
        """Whether it knows of the thread and the block no more than their place in the grid: `(i - 1) / 2`, where `i` is that."""
        node, place = unwrapped(node), Polynomial.of(node, self._names)
        units = (f"threadIdx.{self._axis}", f"blockIdx.{self._blocks}", f"gridDim.{self._blocks}")
        if not any(place.mentions(unit) for unit in units) or self._is_place(place):
            return True
        if any(self._is_size(term) for term in place.terms):  # a whole block further
            return False
        found = self._names.definition(node) if node.type == "identifier" else None
        if found is not None and found.is_fixed and found.value is not None and depth < _DEEPEST:
            return self._is_told_by_place(found.value, depth + 1)
        parts = [] if self._names.builtin(node) is not None or depth > _DEEPEST else node.named_children
        return bool(parts) and all(self._is_told_by_place(part, depth + 1) for part in parts)

    def _is_place(self, place: Polynomial) -> bool:
        """A thread's, after so many for each block before; or an element's, of a loop over a block's share."""
        share = self._text(place.coefficient(f"blockIdx.{self._blocks}"))
        if share is None or any(self._is_size(term) for term in place.terms):
            return False
        own = self._text(place.coefficient(f"threadIdx.{self._axis}"))
        taken = None if own is None else tidy(f"({own}) * ({self._extent})")
        if taken is not None and same(share, taken):
            return True
        for loop in (self._loops[atom] for atom in place.atoms if atom in self._loops):
            apart, bound = self._text(place.coefficient(loop.atom)), self._names.expression(loop.bound)
            if apart is not None and taken is not None and same(apart, taken):
                return True
            if apart is not None and taken is None and bound is not None and same(share, f"({apart}) * ({bound})"):
                return True
        return False

    def _is_size(self, term: Collection[str]) -> bool:
        return bool(term) and all(atom in self._sizes for atom in term)

    def _indexes_shared(self, node: Node) -> bool:
        outer = (a for a in ancestors(node) if a.type == "subscript_expression" and is_within(node, field(a, "indices")))
        return any(text_of(subscripts_of(access)[1]) in self._shared for access in outer)

    def _fills_shared(self, node: Node) -> bool:
        """A condition that decides about shared memory alone, for a known number of threads, or part of what goes there."""
        for above in ancestors(node):
            if above.type == "assignment_expression":
                return base_name(unwrapped(field(above, "left"))) in self._shared
            if above.type == "if_statement" and is_within(node, field(above, "condition")):
                asked = (other for one, other, _ in comparisons(self._names.source) if is_within(node, one))
                written = {base_name(unwrapped(field(a, "left"))) for a in of_kind(above, "assignment_expression")}
                known = all(self._names.expression(other) is not None for other in asked)
                return known and bool(written) and written <= self._shared and not any(True for _ in exits(above))
            if above.type in LOOPS:
                return False
        return False

    # ── a block's place ──

    def _of_blocks(self) -> str | None:
        """Where the block's number is used in other units than the block's size."""
        steps = {unwrapped(loop.step).start_byte for loop in self._strided if loop.step is not None}
        for node, place in _expressions(self._names):
            asks = any(place.mentions(f"{name}.{self._blocks}") for name in ("blockIdx", "gridDim"))
            known = unwrapped(node).start_byte in steps or self._fills_shared(node) or self._is_told_by_place(node)
            if asks and not known:
                return f"line {self._line(node)} uses a block index ({text_of(node)}), which changes with the block size"
        return None

    def _of_grid_stride(self) -> str | None:
        """Where a loop over the whole grid asks for a block's number, or an argument has an element for each block."""
        loops = [loop for loop in self._strided if loop.kind is LoopKind.GRID_STRIDE and loop.axis == self._axis]
        arguments = {parameter.name for parameter in self._names.source.parameters}
        for node, place in _expressions(self._names) if loops else ():
            access = next((a for a in ancestors(node) if a.type == "subscript_expression"), None)
            of_argument = access is not None and text_of(subscripts_of(access)[1]) in arguments
            asks = any(place.mentions(f"{name}.{self._axis}") for name in ("blockIdx", "gridDim"))
            if asks and (of_argument or any(is_within(node, loop.body) for loop in loops)):
                return f"line {self._line(node)} uses a block index ({text_of(node)}) in addition to a grid-stride loop"
        return None

    # ── memory that a block shares ──

    def _of_copies(self) -> str | None:
        use = shared_by_block(self._names, self._axis, self._shared)
        return (
            None
            if use is None
            else f"line {self._line(use)} ({text_of(use)}): the result may depend on which elements share a block"
        )

    def _of_pieces(self) -> str | None:
        """What one thread reads of what the others stored: by steps that follow the block's size."""
        slots = {name for name, indices in self._stored() if any(self._of_thread(index) for index in indices)}
        for read in self._reads(slots):
            if (place := next((i for i in subscripts_of(read)[0] if not self._is_for_any_size(i)), None)) is not None:
                return f"line {self._line(place)} reads {text_of(read)} of its block's threads, possibly for one block size only"
        thread = Polynomial.atom(f"threadIdx.{self._axis}")
        for one, other, _ in comparisons(self._names.source) if slots else ():
            number = self._names.value(other)
            if number is not None and number > 1 and self._of_thread(one) and Polynomial.of(one, self._names) != thread:
                return f"line {self._line(one)} compares with a number of threads ({text_of(one)}, {number})"
        return None

    def _stored(self) -> Iterator[tuple[str, list[Node]]]:
        for body in self._names.source.reached():
            for store in of_kind(body, "assignment_expression"):
                indices, base = subscripts_of(unwrapped(field(store, "left")))
                if text_of(base) in self._shared:
                    yield text_of(base), indices

    def _reads(self, arrays: Collection[str]) -> Iterator[Node]:
        for body in self._names.source.reached():
            for node in of_kind(body, "subscript_expression"):
                parent = node.parent
                inner = parent is not None and parent.type == "subscript_expression" and field(parent, "argument") == node
                target = parent is not None and parent.type == "assignment_expression" and field(parent, "left") == node
                if text_of(subscripts_of(node)[1]) in arrays and not inner and not target:
                    yield node

    def _is_for_any_size(self, index: Node) -> bool:
        """The thread's own slot, the first, one that the block's size tells, or one that a loop over all of them comes to."""
        place = Polynomial.of(index, self._names)
        counters = {found for atom in place.atoms for found in re.findall(r"\w+@\d+", atom)}
        if counters:
            return all(self._follows_size(counter) for counter in counters)
        constant = place.terms.get((), 0)
        return constant == 0 or any(self._is_size(term) for term in place.terms)

    def _follows_size(self, counter: str) -> bool:
        """Whether the loop over a variable, or what the variable begins with, names the block's size."""
        at = int(counter.partition("@")[2])
        declared = (n for body in self._names.source.reached() for n in of_kind(body, "init_declarator"))
        node = next((n for n in declared if n.start_byte == at), None)
        loop = None if node is None else next((a for a in ancestors(node) if a.type == "for_statement"), None)
        parts = [] if node is None else [field(node, "value"), *([] if loop is None else [field(loop, "condition")])]
        return any(self._mentions_size(part) for part in parts)

    def _mentions_size(self, node: Node) -> bool:
        known = dependents(self._parameters | {"blockDim", "get_local_size"}, [self._names.source.tree.root])
        text = self._names.expression(node)
        parts = [Polynomial.of(part, self._names) for part in of_kind(node, "identifier", "field_expression")]
        mentions = any(part.mentions(size) for part in parts for size in self._sizes)
        return mentions or bool(names_of(text or "0") & self._parameters) or not known.isdisjoint(identifiers(node))

    def _of_thread(self, node: Node) -> bool:
        return Polynomial.of(node, self._names).mentions(f"threadIdx.{self._axis}")

    def _text(self, polynomial: Polynomial | None) -> str | None:
        text = None if polynomial is None or not polynomial.terms else as_text(polynomial)
        return None if text is None else substituted(text, self._extents)


def dependent_steps(names: Names, axis: str) -> str | None:
    """Why a loop cannot be distributed otherwise over the threads along an axis: a step depends on the thread's steps before."""
    shared = {array.name for array in arrays_of(names) if array.is_shared}
    for body in names.source.reached():
        for loop in loops_of(body, names):
            if loop.step is None or not Polynomial.of(loop.start, names).mentions(f"threadIdx.{axis}"):
                continue
            if (way := next(_ways_out(loop), None)) is not None:
                line = names.source.line_of(way)
                return f"line {line} leaves the loop over {loop.variable}: a thread's trip count depends on its elements"
            own = set(carried(loop, names)) - {loop.variable} - shared
            known = dependents(own, [loop.body]) if own else frozenset[str]()
            for effect in effects(loop.body, names) if known else ():
                conditions = (a.child_by_field_name("condition") for a in ancestors(effect) if is_within(a, loop.body))
                if any(not known.isdisjoint(identifiers(part)) for part in (effect, *conditions) if part is not None):
                    own_sums = " and ".join(sorted(own))
                    return f"line {names.source.line_of(effect)} depends on {own_sums} of the thread's earlier iterations"
    return None


def _ways_out(loop: Loop) -> Iterator[Node]:
    yield from exits(loop.body)
    yield from of_kind(loop.body, "goto_statement")
    yield from (node for node in of_kind(loop.body, "break_statement") if not is_in_inner_loop(node, loop.body))


def dependent_elements(names: Names, parameters: Collection[str]) -> dict[str, str]:
    """By parameter: what a thread makes of all its elements. It is another value where a thread has more or fewer of them."""
    found: dict[str, str] = {}
    arrays = {array.name for array in arrays_of(names)}
    for body in names.source.reached():
        for loop in loops_of(body, names):
            bound = names.expression(loop.bound)
            own = set(carried(loop, names)) - arrays - {loop.variable}
            if bound is not None and bound in parameters and own:
                line = f"line {names.source.line_of(loop.node)}"
                found.setdefault(bound, f"{line} aggregates {' and '.join(sorted(own))} over all elements of a thread")
    return found


def _expressions(names: Names) -> Iterator[tuple[Node, Polynomial]]:
    for body in names.source.reached():
        for node in whole_expressions(body, ARITHMETIC):
            if not is_alias(node, names):
                yield node, Polynomial.of(node, names)
