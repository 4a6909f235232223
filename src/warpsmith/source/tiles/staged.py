"""Recognises tiles: shared arrays that are filled from a buffer, element by element, and then only read.

Of a tile it is known where each element comes from: the address as a polynomial in the tile's own subscripts, and the guard under
which it is loaded. So a read of the tile can be written as a read of the buffer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from warpsmith.source.arrays import Array, arrays_of
from warpsmith.source.comparisons import NEGATED
from warpsmith.source.dataflow import dependents
from warpsmith.source.names import Names
from warpsmith.source.polynomial import Polynomial
from warpsmith.source.reaching import ReachingNames
from warpsmith.source.threads import THREAD
from warpsmith.source.tiles.loaded import VECTOR_CAST, Loading, NotATile, indices_of, otherwise
from warpsmith.source.tiles.solving import Solution, subscript
from warpsmith.source.tree import LOOPS, ancestors, field, is_within, of_kind, text_of, unwrapped

if TYPE_CHECKING:
    from tree_sitter import Node


@dataclass(frozen=True, slots=True)
class Comparison:
    left: Polynomial
    operator: str
    right: Polynomial


@dataclass(frozen=True, slots=True)
class Tile:
    """`address` is within `buffer` (a pointer parameter); `copies` are the statements that fill the tile, and do nothing else."""

    array: Array
    buffer: str
    address: Polynomial
    guards: tuple[Comparison, ...]
    fill: str
    copies: tuple[Node, ...]
    reads: tuple[Node, ...]


def tile_of(array: Array, names: Names, read_only: frozenset[str]) -> Tile:
    """Raises NotATile with the reason. `read_only` are the buffers that the kernel never writes."""
    return _Recogniser(array, ReachingNames(names.source, names.parameters, names.kernel), read_only).tile()


def shared_tiles(names: Names) -> Iterator[Array]:
    body = names.source.body
    return (a for a in arrays_of(names) if a.is_shared and not a.is_dynamic and is_within(a.declarator, body))


class _Recogniser:
    def __init__(self, array: Array, names: ReachingNames, read_only: frozenset[str]) -> None:
        self._array = array
        self._names = names
        self._loading = Loading(array, names)
        self._read_only = read_only

    def tile(self) -> Tile:
        writes, reads = self._uses()
        if not writes or not reads:
            raise NotATile(f"{self._array.name} is not both written and read", self._array.declarator)
        copies = self._copies([write for write, _ in writes], reads)
        padding = [other for write, element in writes for other in _paddings(write, element)]
        self._require_refilled(copies, padding)
        writes = [(write, element) for write, element in writes if write not in padding]
        varying = self._varying(copies)
        solved = [self._solved(write, chain, varying) for write, chain in writes]
        buffer, address, guards, fill = solved[0]
        for other in solved[1:]:
            if other[:2] != (buffer, address) or other[3] != fill or len(other[2]) != len(guards):
                raise NotATile(f"{self._array.name} is filled in different ways", writes[0][0])
            guards = tuple(_stricter(a, b, writes[0][0]) for a, b in zip(guards, other[2], strict=True))
        return Tile(self._array, buffer, address, guards, fill, tuple(copies), tuple(reads))

    def _uses(self) -> tuple[list[tuple[Node, Node]], list[Node]]:
        """The assignments to elements (with the element), and the elements that are read."""
        writes, reads = [], []
        for use in of_kind(self._names.source.body, "identifier"):
            if text_of(use) != self._array.name or is_within(use, self._array.declarator):
                continue
            element = use
            for _ in self._array.extents:
                parent = element.parent
                if parent is None or parent.type != "subscript_expression" or field(parent, "argument") != element:
                    raise NotATile(f"{self._array.name} is used as a whole", use)
                element = parent
            assignment = self._assignment(element)
            if assignment is not None:
                writes.append((assignment, element))
            elif _is_plain_read(element):
                reads.append(element)
            else:
                raise NotATile(f"an element of {self._array.name} is changed, or its address taken", use)
        return writes, reads

    def _assignment(self, element: Node) -> Node | None:
        """`element = …`, or `*reinterpret_cast<float4*>(&element) = …`."""
        parent = element.parent
        target = element
        if parent is not None and parent.type == "pointer_expression" and text_of(field(parent, "operator")) == "&":
            call = next((a for a in ancestors(parent) if a.type == "call_expression"), None)
            star = call.parent if call is not None else None
            if call is None or star is None or star.type != "pointer_expression" or not VECTOR_CAST.match(text_of(call)):
                return None
            target, parent = star, star.parent
        is_target = parent is not None and parent.type == "assignment_expression" and field(parent, "left") == target
        return parent if is_target and parent is not None and text_of(field(parent, "operator")) == "=" else None

    def _copies(self, writes: Sequence[Node], reads: Sequence[Node]) -> list[Node]:
        """The largest statements around the writes that hold no read; they must do nothing but fill the tile."""
        found: list[Node] = []
        for write in writes:
            whole = write
            for outer in ancestors(write):
                if outer.type == "compound_statement" and outer.parent is not None and outer.parent.type == "function_definition":
                    break
                if any(is_within(read, outer) for read in reads):
                    break
                if outer.type.endswith("_statement") and outer.type != "compound_statement":
                    whole = outer
            if whole not in found:
                found.append(whole)
        for copy in found:
            self._only_fills(copy)
        return found

    def _require_refilled(self, copies: Sequence[Node], padding: Sequence[Node]) -> None:
        """In a loop, what a condition leaves out would keep what the step before put there."""
        for copy in copies:
            again = any(a.type in LOOPS for a in ancestors(copy))
            for condition in of_kind(copy, "if_statement"):
                instead = condition.child_by_field_name("alternative")
                padded = instead is not None and any(is_within(other, instead) for other in padding)
                if again and not padded and any(self._assignment(e) is not None for e in self._elements(condition)):
                    raise NotATile(f"{self._array.name} keeps stale values when the fill guard is false", condition)

    def _elements(self, within: Node) -> Iterator[Node]:
        for element in of_kind(within, "subscript_expression"):
            if len(indices_of(element)) == len(self._array.extents) and text_of(_innermost(element)) == self._array.name:
                yield element

    def _only_fills(self, copy: Node) -> None:
        for node in of_kind(copy, "assignment_expression", "update_expression", "call_expression"):
            if node.type == "call_expression":
                function = text_of(field(node, "function"))
                if not re.match(
                    r"(?:static_cast|reinterpret_cast|make_\w+|min|max|__ldg|std::min|std::max|get_\w+_id)\b", function
                ):
                    raise NotATile(f"filling {self._array.name} calls {function}", node)
                continue
            target = field(node, "left" if node.type == "assignment_expression" else "argument")
            named = list(of_kind(target, "identifier"))
            if not named or any(text_of(name) == self._array.name for name in named):
                continue
            name = named[0]
            declared = self._names.source.scopes.declaration(text_of(name), name)
            if declared is None or not is_within(declared.node, copy):
                raise NotATile(f"filling {self._array.name} also changes {text_of(target)}", node)
        if any(True for _ in of_kind(copy, "return_statement", "goto_statement")):
            raise NotATile(f"filling {self._array.name} may leave the kernel", copy)

    def _varying(self, copies: Sequence[Node]) -> re.Pattern[str]:
        """What differs from thread to thread, or from step to step of the filling."""
        loops = [n for copy in copies for n in of_kind(copy, "for_statement")]
        counters = [d for loop in loops for d in of_kind(field(loop, "initializer"), "init_declarator")]
        # A variable that follows from the thread, as `for (int t = threadIdx.x; …)` around the filling, is each thread's own.
        own = sorted(dependents(THREAD, [self._names.source.body]) - THREAD)
        steps = (rf"\w+@{d.start_byte}\b" for d in counters)
        return re.compile("|".join([r"threadIdx\.[xyz]", *steps, *(rf"\b{re.escape(name)}@\d+" for name in own)]))

    def _solved(
        self, write: Node, element: Node, varying: re.Pattern[str]
    ) -> tuple[str, Polynomial, tuple[Comparison, ...], str]:
        source = self._loading.of(write, element)
        pointers = {p.name for p in self._names.source.parameters if p.depth}
        bases = [atom for atom in source.address.atoms if atom in pointers]
        if len(bases) != 1 or source.address.coefficient(bases[0]) != Polynomial.constant(1) or bases[0] not in self._read_only:
            raise NotATile(f"{self._array.name} is not filled from one read-only buffer", write)
        solve = Solution(source.subscripts, varying)
        address = solve(source.address - Polynomial.atom(bases[0]))
        is_vector = element.parent is not None and element.parent.type == "pointer_expression"
        last = subscript(len(source.subscripts) - 1)
        if is_vector and (address is None or address.coefficient(last) != Polynomial.constant(1)):
            raise NotATile(f"adjacent elements of {self._array.name} are not adjacent in {bases[0]}", write)
        guards = []
        for condition in source.conditions:
            for part in _conjuncts(condition, self._names):
                left, right = (solve(Polynomial.of(field(part, side), self._names)) for side in ("left", "right"))
                if left is None or right is None:
                    raise NotATile(f"a guard of {self._array.name} does not follow from its subscripts", part)
                guards.append(Comparison(left, text_of(field(part, "operator")), right))
        if address is None:
            raise NotATile(f"the source address of {self._array.name} does not follow from its subscripts", write)
        return bases[0], address, tuple(guards), source.fill


def _paddings(write: Node, element: Node) -> Iterator[Node]:
    """What is assigned to the same element where a condition does not let it be loaded."""
    for outer in ancestors(write):
        if outer.type == "if_statement" and (other := otherwise(outer, element)) is not None:
            yield other


def _innermost(element: Node) -> Node:
    while element.type == "subscript_expression":
        element = unwrapped(field(element, "argument"))
    return element


def _conjuncts(condition: Node, names: Names) -> Iterator[Node]:
    condition = unwrapped(condition)
    if condition.type == "condition_clause":
        condition = unwrapped(condition.named_children[0])
    if condition.type == "identifier":
        found = names.definition(condition)
        if found.is_fixed and found.value is not None:
            yield from _conjuncts(found.value, names)
            return
    operator = text_of(field(condition, "operator")) if condition.type == "binary_expression" else ""
    if operator == "&&":
        yield from _conjuncts(field(condition, "left"), names)
        yield from _conjuncts(field(condition, "right"), names)
    elif operator in NEGATED:
        yield condition
    else:
        raise NotATile("its guard is more than comparisons joined by &&", condition)


def _stricter(a: Comparison, b: Comparison, at: Node) -> Comparison:
    """Of two that differ by a constant (the components of one vector): the one that implies the other."""
    apart = (a.left - a.right) - (b.left - b.right)
    if a.operator != b.operator or apart.terms.keys() - {()}:
        raise NotATile("it is filled under different guards", at)
    larger = apart.terms.get((), 0) >= 0
    return a if larger == (a.operator in {"<", "<="}) else b


def _is_plain_read(element: Node) -> bool:
    parent = element.parent
    if parent is None or parent.type == "update_expression":
        return False
    if parent.type == "assignment_expression" and field(parent, "left") == element:
        return False
    return not (parent.type == "pointer_expression" and text_of(field(parent, "operator")) == "&")
