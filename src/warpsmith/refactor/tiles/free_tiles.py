"""Tiles that may begin anywhere: kernels in which what is stored for an element follows from its coordinates alone.

Then it does not matter which block does it, which of its threads, and in which of the thread's turns; and an element that two
blocks do gets the same value from both. What is asked for that:

* Threads have nothing to do with each other. What is written is not read, not even through another pointer (`__restrict__`),
  and is stored under checks that say which elements exist (`tiles.coordinates`); those are the axes that tiles may move along.
* Whatever depends on a thread's or a block's place along such an axis is a sum in which both have the weights that they have in
  the coordinate. Where a thread has several elements, the loop over them stands around it, with its weight in the sum.
* A variable that changes belongs to one element: it is declared inside the loops over elements, or is an array with an element
  for each of their steps.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from warpsmith.refactor.base import Subject
from warpsmith.refactor.geometry import Geometry
from warpsmith.refactor.preconditions import Unmet, names_of, require
from warpsmith.refactor.tiles.coordinates import Axis, Comparisons, whole_arguments
from warpsmith.refactor.tiles.element_loops import ElementLoops
from warpsmith.source import Loop, Names, Polynomial, loops_of
from warpsmith.source.access_paths import Place, place_of, read_places, written_places
from warpsmith.source.dataflow import base_name, is_pure_call
from warpsmith.source.dead_work import LEAVING, checks_at
from warpsmith.source.maximal_expressions import SUMS, outer, whole_expressions
from warpsmith.source.scopes import Origin
from warpsmith.source.threads import launch_uses, teamwork
from warpsmith.source.tree import ancestors, field, of_kind, text_of, unwrapped

if TYPE_CHECKING:
    from tree_sitter import Node

_ELSEWHERE = "?"  # a value that is looked at where it comes from
_DECLARATORS = frozenset({"pointer_declarator", "array_declarator", "reference_declarator"})
_COMPARED = frozenset({"<", "<=", ">", ">=", "==", "!="})
_GLOBAL = re.compile(r"get_global_id\s*\(\s*[012]u?\s*\)")
_WHOLE_NUMBERS = re.compile(
    r"(?:(?:un)?signed|char|short|int|long|bool|auto|u?int(?:8|16|32|64)_t|size_t|ptrdiff_t|uint|ulong|\s)+"
)
_FLOATING = re.compile(r"\b(?:float|double|half|__half)\b|\d\.|\.\d")


@dataclass(frozen=True, slots=True)
class FreeTiles:
    """`counters` are the loops over a thread's elements along each axis, by the atoms of their variables."""

    names: Names
    geometry: Geometry
    axes: tuple[Axis, ...]
    counters: dict[str, frozenset[str]]
    comparisons: Comparisons

    def holds_inside(self, part: Node) -> bool:
        """Whether the comparison holds for all of a tile that does not reach beyond the end along any axis."""
        distance = self.comparisons.distance(part)
        for axis in self.axes if distance is not None else ():
            counters = self.counters[axis.name]
            last = self.comparisons.greatest(distance, counters) if distance is not None else None
            if last is None or axis.share(last) != Polynomial.constant(1):
                continue
            beyond = last.without(axis.block).without(axis.thread) + axis.end
            for atom in counters:
                beyond = beyond.without(atom)
            if not beyond.atoms and beyond.terms.get((), 0) <= 0:
                return True
        return False


def free_tiles(subject: Subject) -> FreeTiles:
    """What is known of the kernel's tiles; Unmet where they may not begin anywhere."""
    names = names_of(subject)
    _require_alone(names)
    geometry = Geometry.of(subject, names)
    loops = {loop.atom: loop for loop in loops_of(names.source.body, names)}
    comparisons = Comparisons(names, geometry, loops)
    stores = _stores(names)
    checked = [found for name in "xyz" if (found := _axis(name, stores, comparisons, names)) is not None]
    require(checked, "no bounds check gives the range of the adjacent elements that a block stores")
    axes = tuple(axis for axis, _ in checked)
    counters = ElementLoops(names, loops, {axis.name: counted for axis, counted in checked})
    for axis in axes:
        for atom in sorted(counters.along[axis.name]):
            require(
                comparisons.steps(loops[atom]) == axis.turns,
                "loops over a thread's elements have different ranges",
                loops[atom].node,
            )
    counters.require_own_variables()
    _Uses(names, geometry, axes, counters).require_coordinates()
    return FreeTiles(names, geometry, axes, {name: frozenset(atoms) for name, atoms in counters.along.items()}, comparisons)


def _require_alone(names: Names) -> None:
    source = names.source
    work = teamwork(source)
    require(work.none, f"the kernel {work.described()}: threads are not independent" if not work.none else "")
    for node in of_kind(source.body, *LEAVING):
        raise Unmet("a thread may leave the kernel, or a statement is not analysed", node)
    for call in of_kind(source.body, "call_expression"):
        called = text_of(field(call, "function"))
        known = (
            called.startswith("static_cast") or names.builtin(call) is not None or _GLOBAL.fullmatch(text_of(call)) is not None
        )
        pure = known or (is_pure_call(call, source) and not called.startswith("get_"))
        require(pure, f"{called} is called, which may have side effects or use the thread index", call)
    asks = any(launch_uses(body, names) for body in source.reached()[1:])
    whole = any(name.endswith("*") for name in launch_uses(source.body, names))
    require(not asks and not whole, "the thread index is used as a whole, or in a called function")


def _stores(names: Names) -> list[Place]:
    body = names.source.body
    stores = list(written_places(body, names))
    written = frozenset[str]().union(*(place.roots for place in stores))
    for parameter in (p for p in names.source.parameters if p.name in written):
        # A kernel that works in place on elements of its own would take what two blocks do twice.
        alone = names.source.is_restrict(parameter)
        require(alone, f"{parameter.name} is not __restrict__: other threads may read the stored elements", parameter.node)
    for place in (*stores, *read_places(body, names)):
        require("?" not in place.roots, "cannot tell which buffer an access belongs to", place.node)
    for place in read_places(body, names):
        require(not place.roots & written, "a stored buffer is also read", place.node)
    return stores


def _axis(name: str, stores: list[Place], comparisons: Comparisons, names: Names) -> tuple[Axis, set[str]] | None:
    """The axis that all stores are checked along, with the loops that count elements there."""
    found: list[tuple[Axis, Loop | None]] = []
    for place in stores:
        parts = (comparisons.axis(part, name) for part in checks_at(place.node, names))
        checked = next((each for each in parts if each is not None), None)
        if checked is None:
            return None
        found.append(checked)
    if not found or any(axis != found[0][0] for axis, _ in found):
        return None
    return found[0][0], {loop.atom for _, loop in found if loop is not None}


class _Uses:
    """All that threads' and blocks' places, and the counters of elements, are used for."""

    def __init__(self, names: Names, geometry: Geometry, axes: tuple[Axis, ...], counters: ElementLoops) -> None:
        self._names, self._geometry, self._axes, self._counters = names, geometry, axes, counters
        self._whole = names.parameters | frozenset(whole_arguments(names))

    def require_coordinates(self) -> None:
        body = self._names.source.body
        for place in (*read_places(body, self._names), *written_places(body, self._names)):
            require(place.addresses, "cannot analyse the address of an access", place.node)
            for address in place.addresses:
                self._require(self._geometry.resolved(address), place.node)
        for node, value in self._values():
            self._require(value, node)

    def _values(self) -> Iterator[tuple[Node, Polynomial]]:
        """What else is computed: sums and products as wholes, comparisons as differences."""
        for node in whole_expressions(self._names.source.body, SUMS):
            around = outer(node)
            if around is None or around.type in _DECLARATORS or self._stands_for_its_value(node):
                continue
            if self._counters.in_header(node) or self._is_address(node):
                continue
            if around.type == "binary_expression" and text_of(field(around, "operator")) in _COMPARED:
                yield node, self._sum(field(around, "left")) - self._sum(field(around, "right"))
            else:
                yield node, self._sum(node)

    def _sum(self, node: Node) -> Polynomial:
        """Without operands that are not sums (loads, conditionals): their parts are checked separately."""
        node, names = unwrapped(node), self._names
        if node.type == "binary_expression" and (sign := text_of(field(node, "operator"))) in SUMS:
            left, right = self._sum(field(node, "left")), self._sum(field(node, "right"))
            return left + right if sign == "+" else left - right if sign == "-" else left * right
        if names.is_cast(node):
            return self._sum(field(node, "value"))
        if node.type == "call_expression" and text_of(field(node, "function")).startswith("static_cast"):
            return self._sum(field(node, "arguments").named_children[0])
        found = names.definition(node) if node.type == "identifier" and text_of(node) not in names.parameters else None
        if found is not None and found.origin is Origin.LOCAL and found.is_fixed and found.value is not None:
            return self._sum(found.value) if self._stands_for_its_value(found.value) else Polynomial.atom(_ELSEWHERE)
        known = node.type in {"identifier", "number_literal"} or names.builtin(node) is not None
        known = known or _GLOBAL.fullmatch(text_of(node)) is not None
        return self._geometry.polynomial(node, names) if known else Polynomial.atom(_ELSEWHERE)

    def _stands_for_its_value(self, node: Node) -> bool:
        """The value of a constant, whose uses are looked at. Not of a float: it matters how sums of floats are put together."""
        declarator = outer(node)
        if declarator is None or declarator.type != "init_declarator" or declarator.parent is None:
            return False
        declaration, declared = declarator.parent, field(declarator, "declarator")
        within = next(a for a in ancestors(declaration) if a.type in {"compound_statement", "for_statement"})
        if within.type == "for_statement" or self._names.is_assigned(base_name(declared), within):
            return False
        kind = declaration.child_by_field_name("type")
        return declared.type == "pointer_declarator" or (kind is not None and _WHOLE_NUMBERS.fullmatch(text_of(kind)) is not None)

    def _is_address(self, node: Node) -> bool:
        """Part of a place in memory, which is looked at as a whole; or what picks an element of the thread's own array."""
        around = outer(node)
        if around is not None and around.type == "subscript_argument_list":
            around = around.parent
        if around is None or around.type not in {"subscript_expression", "pointer_expression"}:
            return False
        while around.parent is not None and around.parent.type == "subscript_expression" and around.parent.child(0) == around:
            around = around.parent
        if place_of(around, self._names) is not None:
            return True
        base = next((n for n in of_kind(around, "identifier") if text_of(n) == base_name(around)), None)
        return self._counters.counts(node) and base is not None and self._counters.declared(base) is not None

    def _require(self, value: Polynomial, node: Node) -> None:
        for axis in self._axes:
            share = axis.share(value)
            own = value.coefficient(axis.thread)
            around = self._counters.around(node, axis.name)
            turns = [value.coefficient(atom) for atom in around]
            others = self._counters.along[axis.name] - set(around)
            # Without a loop over elements around it, something would be the same for all of a thread's elements.
            weights = share is not None and own == share * axis.own and all(turn == share * axis.turn for turn in turns)
            single = axis.turns == Polynomial.constant(1) or bool(around) or (share is not None and not share.terms)
            plain = share is not None and share.atoms <= self._whole and not any(map(value.mentions, others))
            floats = share is None or not share.terms or _FLOATING.search(text_of(node)) is None
            require(
                weights and single and plain and floats,
                f"`{' '.join(text_of(node).split())}` does not follow from an element's coordinate along {axis.name}",
                node,
            )
