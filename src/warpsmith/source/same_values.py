"""Where in global memory the values of a kept row lie as well: stored there in the same step, or loaded from there, unrounded."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from dataclasses import field as data
from typing import TYPE_CHECKING

from warpsmith.source.access_paths import place_of, written_places
from warpsmith.source.arrays import named_in_macros
from warpsmith.source.dataflow import changed_names
from warpsmith.source.effects import declared_type
from warpsmith.source.independence import follows
from warpsmith.source.kept_rows import KeptRow, NotKept, is_unconditional
from warpsmith.source.names import Definition, Names
from warpsmith.source.polynomial import Polynomial
from warpsmith.source.scopes import Origin
from warpsmith.source.structs import member_type, plain_type, pointee_type
from warpsmith.source.tree import field, is_within, of_kind, text_of, unwrapped

if TYPE_CHECKING:
    from tree_sitter import Node

_NAMED_CAST = re.compile(r"static_cast\s*<\s*([^<>]+?)\s*>")


@dataclass(frozen=True, slots=True)
class Twin:
    """`target` is the lvalue in global memory that has a step's values.

    Where it has them all at once, `member` is the element (`b.lane[lane]`) of the local variable that goes there, or comes from
    there, as a whole, and `type` is how that variable was declared.
    """

    target: Node = data(repr=False)
    member: Node | None = data(default=None, repr=False)
    type: str = ""


def twin_of(row: KeptRow, names: Names) -> Twin:
    """Raises NotKept where there is none, or where it may be another value by the time the row is read."""
    finder = _Finder(row, names)
    found = next(iter((*finder.stored(), *finder.loaded(row.value))), None)
    if found is None:
        reason = (
            f"the values of {row.array.name} are not stored to or loaded from global memory, unrounded, in the same iteration"
        )
        raise NotKept(reason, row.statement)
    place = place_of(found.target, names)
    if place is None or "?" in place.roots:
        raise NotKept(f"the buffer with the values of {row.array.name} is not a parameter", found.target)
    for written in written_places(names.source.body, names):
        if written.node != found.target and (written.roots & place.roots or "?" in written.roots):
            raise NotKept(f"the global memory that also holds the values of {row.array.name} may be overwritten", written.node)
    if any(use.loop.node == row.write.loop.node for use in row.reads):
        raise NotKept(f"{row.array.name} is read in the iteration that writes it", row.write.element)
    hidden = next(
        (n for n in (*place.roots, *map(text_of, of_kind(found.target, "identifier"))) if named_in_macros(n, names)), None
    )
    if hidden is not None:
        raise NotKept(f"a macro mentions {hidden}, so some writes may be hidden", found.target)
    for node in of_kind(found.target, "identifier"):
        of_launch = node.parent is not None and names.builtin(node.parent) is not None
        if text_of(node) not in finder.own_variables and not names.definition(node).is_fixed and not of_launch:
            raise NotKept(f"{text_of(node)} may have changed when {row.array.name} is read", node)
    return found


class _Finder:
    def __init__(self, row: KeptRow, names: Names) -> None:
        self._row, self._names = row, names
        self._kind = plain_type(row.array.element, names)
        self._step = row.write.loop
        self._assignments = [
            node
            for node in of_kind(self._step.body, "assignment_expression")
            if text_of(field(node, "operator")) == "=" and is_unconditional(node, row.write)
        ]

    @property
    def own_variables(self) -> set[str]:
        lane = self._row.write.lane
        return {self._step.variable} | (set() if lane is None else {lane.variable})

    def stored(self) -> Iterator[Twin]:
        """`to[i] = x` beside `kept[i] = x`, or `b.lane[l] = x` with `to[i] = b` after it."""
        for assignment in self._assignments:
            target = unwrapped(field(assignment, "left"))
            if assignment.parent == self._row.statement or not self._is_kept_value(field(assignment, "right")):
                continue
            if place_of(target, self._names) is not None:
                if self._pointee(target) == self._kind and self._is_own_place(target, written=True):
                    yield Twin(target)
            elif (owner := self._owner_of_element(target)) is not None and self._changes(text_of(owner)) == 1:
                yield from self._stored_whole(owner, target)

    def _stored_whole(self, owner: Node, member: Node) -> Iterator[Twin]:
        kind = declared_type(owner, self._names) or ""
        for store in self._assignments:
            target = unwrapped(field(store, "left"))
            is_whole = text_of(unwrapped(field(store, "right"))) == text_of(owner) and store.start_byte > member.end_byte
            in_step = self._row.write.lane is None or not is_within(store, self._row.write.lane.node)
            if is_whole and in_step and self._holds(target, kind) and self._is_own_place(target, written=True, whole=True):
                yield Twin(target, member, kind)

    def loaded(self, value: Node) -> Iterator[Twin]:
        """`kept[i] = from[i]`, or an element of a variable that was loaded as a whole; also through names for either."""
        value, names = self._without_casts(value), self._names
        if value.type == "identifier":
            found = names.definition(value)
            same = plain_type(declared_type(value, names) or "", names) == self._kind
            if found.is_fixed and found.value is not None and self._is_of_step(found) and same:
                yield from self.loaded(found.value)
        elif place_of(value, names) is not None:
            if self._pointee(value) == self._kind and self._is_own_place(value, written=False):
                yield Twin(value)
        elif (owner := self._owner_of_element(value)) is not None and not self._changes(text_of(owner)):
            found, kind = names.definition(owner), declared_type(owner, names) or ""
            source = None if found.value is None else unwrapped(found.value)
            if source is not None and self._holds(source, kind) and self._is_own_place(source, written=False, whole=True):
                yield Twin(source, value, kind)

    def _is_kept_value(self, value: Node) -> bool:
        """Whether it is the name that is kept, which has one value in a step (and lane)."""
        mine, other = self._without_casts(self._row.value), self._without_casts(value)
        if mine.type != "identifier" or other.type != "identifier":
            return False
        first, second = self._names.definition(mine), self._names.definition(other)
        return first.is_fixed and self._is_of_step(first) and first.node == second.node

    def _without_casts(self, node: Node) -> Node:
        """Without conversions to the type that is kept: they are done either way."""
        node = unwrapped(node)
        named = _NAMED_CAST.fullmatch(text_of(field(node, "function"))) if node.type == "call_expression" else None
        if named and plain_type(named[1], self._names) == self._kind:
            return self._without_casts(field(node, "arguments").named_children[0])
        if node.type == "cast_expression" and plain_type(text_of(field(node, "type")), self._names) == self._kind:
            return self._without_casts(field(node, "value"))
        return node

    def _is_of_step(self, found: Definition) -> bool:
        return found.origin is Origin.LOCAL and found.node is not None and is_within(found.node, self._step.body)

    def _owner_of_element(self, node: Node) -> Node | None:
        """The variable of the step whose member this is, of the type that is kept: `b` of `b.lane[lane]`, or of `b.x`."""
        lane, element = self._row.write.lane, node
        if lane is not None:
            if element.type != "subscript_expression" or text_of(field(element, "indices").named_children[0]) != lane.variable:
                return None
            element = unwrapped(field(element, "argument"))
        if element.type != "field_expression" or text_of(field(element, "operator")) != ".":
            return None
        owner = unwrapped(field(element, "argument"))
        if owner.type != "identifier" or not self._is_of_step(self._names.definition(owner)):
            return None
        kind = member_type(declared_type(owner, self._names) or "", text_of(field(element, "field")), self._names)
        return owner if kind == self._kind else None

    def _changes(self, name: str) -> int:
        """How many expressions of a step may change the variable after its declaration."""
        source = self._names.source
        kinds = ("assignment_expression", "update_expression", "pointer_expression", "call_expression")
        return sum(name in changed_names(node, source) for node in of_kind(self._step.body, *kinds))

    def _pointee(self, target: Node) -> str | None:
        if target.type != "subscript_expression" or unwrapped(field(target, "argument")).type != "identifier":
            return None
        return pointee_type(unwrapped(field(target, "argument")), self._names)

    def _holds(self, target: Node, kind: str) -> bool:
        return bool(kind) and place_of(target, self._names) is not None and self._pointee(target) == plain_type(kind, self._names)

    def _is_own_place(self, target: Node, *, written: bool, whole: bool = False) -> bool:
        """Whether each step (and lane, unless the place has all lanes) has a place of its own; each block, too, if it writes."""
        place, lane = place_of(target, self._names), self._row.write.lane
        if place is None or len(place.addresses) != 1:
            return False
        address = place.addresses[0]
        if not follows(address, self._step) or (written and not address.mentions("blockIdx")):
            return False
        if lane is None or whole:
            return lane is None or not address.mentions(lane.atom)
        lanes = Polynomial.of(lane.bound, self._names)
        return address.coefficient(lane.atom) == Polynomial.constant(1) and address.coefficient(self._step.atom) == lanes
