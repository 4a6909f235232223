"""Does a block of another size still bring the values of all its threads together?

    for (int d = 128; d > 0; d >>= 1) if (threadIdx.x < d) slot[threadIdx.x] += slot[threadIdx.x + d];
    if (threadIdx.x == 0) for (int j = 1; j < 256; ++j) slot[0] += slot[j];
    if (kThreads >= d && threadIdx.x < d / 2) …          where d begins with 1024

What is as long as the author's block needs leaves threads of a larger one out. So a count that goes over shared memory with a
place for each thread must follow from the block's size, or be compared with it, in which case the size has an upper bound.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from warpsmith.refactor.base import Rule
from warpsmith.refactor.extents import names_of
from warpsmith.refactor.lifting.symbolic import Symbolic
from warpsmith.source.arrays import Array, arrays_of
from warpsmith.source.dataflow import base_name, dependents, identifiers
from warpsmith.source.geometry import subscripts_of
from warpsmith.source.names import Names
from warpsmith.source.polynomial import Polynomial
from warpsmith.source.tree import ancestors, field, is_within, of_kind, text_of, unwrapped

if TYPE_CHECKING:
    from tree_sitter import Node

_COUNTER = re.compile(r"\b(\w+)@(\d+)")
_LAUNCHED = frozenset({"blockDim", "get_local_size", "get_enqueued_local_size"})
_DESCENDS = re.compile(r">>=|/=|-=|--")
_BOUNDS = {">=", ">", "<=", "<"}
_WARP = 32
_OF_WARP = re.compile(r"\(threadIdx\.[xyz](?:/32|>>5)\)")


def bounds(lifted: Symbolic, sizes: frozenset[str]) -> list[Rule]:
    """What must hold of the parameters that a block's extents are made of."""
    return list(_Gathering(lifted.names, lifted, sizes).bounds.values())


def left_out(lifted: Symbolic, sizes: frozenset[str]) -> dict[str, str]:
    """Those of them that are no choice, and why."""
    found = _Gathering(lifted.names, lifted, sizes)
    return {size: reason for size in sorted(sizes) if (reason := found.problem(size)) is not None}


def left_out_of(names: Names) -> str | None:
    """Why the launch is not free to choose another block for a kernel that knows its size as `blockDim` only."""
    return _Gathering(names, None, frozenset()).problem(None)


class _Gathering:
    def __init__(self, names: Names, lifted: Symbolic | None, sizes: frozenset[str]) -> None:
        self._names, self._sizes = names, sizes
        self._defaults = {} if lifted is None else lifted.defaults
        spelled = {constant.name for size in sizes for constant in lifted.constants[size]} if lifted is not None else set()
        self._following = dependents({*sizes, *spelled, *_LAUNCHED}, [names.source.tree.root])
        self._bodies = names.source.reached()
        self._declared = {n.start_byte: n for body in self._bodies for n in of_kind(body, "init_declarator")}
        self._stores = [n for body in self._bodies for n in of_kind(body, "assignment_expression")]
        self._shared = [a for a in arrays_of(names) if a.is_shared]
        self.bounds = dict(self._compared())  # by the variable that is compared with a size

    def _compared(self) -> Iterator[tuple[str, Rule]]:
        """`kThreads >= d`, where d counts down from a number."""
        for node in (n for body in self._bodies for n in of_kind(body, "binary_expression")):
            if text_of(field(node, "operator")) not in _BOUNDS:
                continue
            left, right = field(node, "left"), field(node, "right")
            for size, other in ((left, right), (right, left)):
                known = self._names.expression(size)
                if known is None or not names_of(known) & self._sizes or names_of(known) - self._defaults.keys():
                    continue
                for counter in _counters(Polynomial.of(other, self._names)):
                    first = self._begins_with(counter)
                    if first is not None:
                        reason = f"line {self._line(node)} brings together what {first} threads have"
                        yield counter, Rule(f"{known} <= {first}", reason)

    def problem(self, size: str | None) -> str | None:
        """Of one of the sizes, or of the block as it is launched."""
        per_thread = {a.name for a in self._shared if a.is_dynamic or size is None or size in self._sizes_in(a)}
        per_warp = {name for store in self._stores if (name := self._slot_of_warp(unwrapped(field(store, "left")))) is not None}
        taken = dependents(per_thread, self._bodies)
        combining = (n for n in self._stores if not taken.isdisjoint(identifiers(field(n, "right"))))
        combined = {base_name(unwrapped(field(n, "left"))) for n in combining}
        for read, name in self._reads(per_thread | per_warp):
            if self._is_step(read, name in combined) or (name in per_warp and self._first_slots(read)):
                return f"line {self._line(read)} goes over {name} in steps for one size of a block ({text_of(read)})"
        return None

    def _is_step(self, read: Node, is_combined: bool) -> bool:
        """Whether other threads' values are taken by a count that does not follow from the block."""
        fixed = self._first_threads(read)
        for index in subscripts_of(read)[0]:
            place = Polynomial.of(index, self._names)
            # `slot[i * kThreads + threadIdx.x]` goes on by whole blocks, whatever their size.
            counters = _counters(Polynomial({term: times for term, times in place.terms.items() if not self._is_whole(term)}))
            of_thread = any(place.mentions(f"threadIdx.{axis}") for axis in "xyz")
            is_step = of_thread and is_combined and (counters or self._leaps(place, fixed))
            goes_over = counters and fixed is not None
            if (is_step or goes_over) and not any(self._follows(counter) for counter in counters):
                return True
        return False

    def _sizes_in(self, array: Array) -> frozenset[str]:
        return names_of(array.elements(self._names) or "0")

    def _slot_of_warp(self, place: Node) -> str | None:
        """The shared array of which each warp fills an element."""
        indices, base = subscripts_of(place)
        known = any(array.name == text_of(base) for array in self._shared)
        return text_of(base) if known and any(_OF_WARP.search(str(Polynomial.of(i, self._names))) for i in indices) else None

    def _first_slots(self, read: Node) -> bool:
        """`lane < 8 ? slot[lane] : 0`: as many as one block size has warps."""
        for above in ancestors(read):
            if above.type not in {"if_statement", "conditional_expression"}:
                continue
            for asked in of_kind(field(above, "condition"), "binary_expression"):
                most = self._names.value(field(asked, "right")) if text_of(field(asked, "operator")) == "<" else None
                place = Polynomial.of(field(asked, "left"), self._names)
                if most is not None and 1 < most < _WARP and any(place.mentions(f"threadIdx.{axis}") for axis in "xyz"):
                    return True
        return False

    def _reads(self, slots: set[str]) -> Iterator[tuple[Node, str]]:
        """Of shared elements, one for each thread; `+=` reads what it writes, which is no other thread's."""
        written = {unwrapped(field(store, "left")).start_byte for store in self._stores}
        for body in self._bodies:
            for node in of_kind(body, "subscript_expression"):
                whole = node.parent is None or node.parent.type != "subscript_expression" or node.parent.child(0) != node
                name = text_of(subscripts_of(node)[1])
                if whole and name in slots and node.start_byte not in written:
                    yield node, name

    def _first_threads(self, node: Node) -> int | None:
        """For how many threads, a number of its own, an `if` around it is: 1 for `threadIdx.x == 0`."""
        for above in ancestors(node):
            if above.type != "if_statement" or not is_within(node, field(above, "consequence")):
                continue
            for asked in of_kind(field(above, "condition"), "binary_expression", "unary_expression"):
                most = self._asked_for(asked)
                if most is not None:
                    return most
        return None

    def _asked_for(self, node: Node) -> int | None:
        threads = [Polynomial.atom(f"threadIdx.{axis}") for axis in "xyz"]
        if node.type == "unary_expression":
            return 1 if text_of(node).startswith("!") and Polynomial.of(field(node, "argument"), self._names) in threads else None
        operator, most = text_of(field(node, "operator")), self._names.value(field(node, "right"))
        if most is None or Polynomial.of(field(node, "left"), self._names) not in threads:
            return None
        return most if operator == "<" else 1 if operator == "==" else None

    def _leaps(self, place: Polynomial, fixed: int | None) -> bool:
        """`slot[threadIdx.x + 128]` for the first 128 threads: a step of a tree that is written out."""
        return fixed is not None and fixed > 1 and place.terms.get((), 0) == fixed

    def _is_whole(self, term: Collection[str]) -> bool:
        return any(atom in self._sizes or atom.startswith("blockDim.") for atom in term)

    def _follows(self, counter: str) -> bool:
        """Whether what a variable runs over is made of the block's size."""
        name, at = counter.split("@")
        node = self._declared.get(int(at))
        if counter in self.bounds or name in self._following or node is None:
            return True
        header = [node, *(n for key in ("condition", "update") if (n := self._header(node, key)) is not None)]
        return any(self._mentions(part) for part in header)

    def _begins_with(self, counter: str) -> int | None:
        node = self._declared.get(int(counter.split("@")[1]))
        update = None if node is None else self._header(node, "update")
        if node is None or update is None or _DESCENDS.search(text_of(update)) is None:
            return None
        return self._names.value(field(node, "value"))

    def _header(self, declarator: Node, part: str) -> Node | None:
        """Of the loop whose variable it declares."""
        loop = next((a for a in ancestors(declarator) if a.type in {"for_statement", "compound_statement"}), None)
        return None if loop is None or loop.type != "for_statement" else loop.child_by_field_name(part)

    def _mentions(self, node: Node) -> bool:
        text = self._names.expression(node)
        known = names_of(text) if text is not None else frozenset[str]()
        return bool(known & self._sizes) or not self._following.isdisjoint(identifiers(node))

    def _line(self, node: Node) -> int:
        return self._names.source.line_of(node)


def _counters(place: Polynomial) -> list[str]:
    """Variables that change, as polynomials know them, alone or inside an atom."""
    return [found[0] for atom in sorted(place.atoms) for found in _COUNTER.finditer(atom)]
