"""Where in global memory the values of a kept row lie as well: stored there in the same step, or loaded from there, unrounded."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from dataclasses import field as data
from typing import TYPE_CHECKING

from warpsmith.source.dataflow import base_name
from warpsmith.source.kept_rows import KeptRow, NotKept, is_unconditional
from warpsmith.source.names import Names
from warpsmith.source.places import place_of, written_places
from warpsmith.source.scopes import Origin
from warpsmith.source.structs import member_type, plain_type, pointee_type
from warpsmith.source.tree import ancestors, field, is_within, of_kind, text_of, unwrapped

if TYPE_CHECKING:
    from tree_sitter import Node

_NAMED_CAST = re.compile(r"static_cast\s*<\s*([^<>]+?)\s*>")


@dataclass(frozen=True, slots=True)
class Twin:
    """`target` is the lvalue in global memory that has a step's values.

    Where it has them all at once, `member` is the element in the local variable (`b.lane[lane]`) that goes there, or comes from
    there, as a whole, and `type` is how that variable was declared.
    """

    target: Node = data(repr=False)
    member: Node | None = data(default=None, repr=False)
    type: str = ""


def twin_of(row: KeptRow, names: Names) -> Twin:
    """Raises NotKept where there is none, or where it may have changed when the row is read."""
    found = next((*_stored(row, names), *_loaded(row, row.value, names)), None)
    if found is None:
        reason = f"what {row.array.name} keeps is neither stored to global memory nor loaded from there, unrounded, in the same step"
        raise NotKept(reason, row.statement)
    place = place_of(found.target, names)
    if place is None or "?" in place.roots:
        raise NotKept(f"the buffer with the values of {row.array.name} is not a parameter", found.target)
    for written in written_places(names.source.body, names):
        if written.node != found.target and (written.roots & place.roots or "?" in written.roots):
            line = names.source.line_of(written.node)
            raise NotKept(f"the memory with the same values as {row.array.name} may be written in line {line}", written.node)
    return found


def _stored(row: KeptRow, names: Names) -> Iterator[Twin]:
    """`to[i] = x` beside `kept[i] = x`, or `b.lane[l] = x` with `to[i] = b` after it."""
    for assignment in _assignments(row):
        left, value = unwrapped(field(assignment, "left")), field(assignment, "right")
        if assignment.parent == row.statement or not _is_same(value, row, names):
            continue
        if place_of(left, names) is not None:
            if _type_of(left, names) == _kind(row, names) and _goes_with_lane(left, row):
                yield Twin(left)
        elif _is_element_of_step(left, row, names):
            yield from _stored_whole(left, row, names)


def _stored_whole(member: Node, row: KeptRow, names: Names) -> Iterator[Twin]:
    name = base_name(member)
    changes = [a for a in _assignments(row) if base_name(field(a, "left")) == name]
    kind = _declared_type(member, names)
    for store in _assignments(row):
        target = unwrapped(field(store, "left"))
        whole = text_of(unwrapped(field(store, "right"))) == name and store.start_byte > member.start_byte
        if whole and len(changes) == 1 and place_of(target, names) is not None and kind and _type_of(target, names) == plain_type(
            kind, names
        ):
            yield Twin(target, member, kind)


def _loaded(row: KeptRow, value: Node, names: Names) -> Iterator[Twin]:
    """`kept[i] = from[i]`, or an element of a variable that was loaded as a whole; also through names for either."""
    value = _without_casts(value, row, names)
    if value.type == "identifier":
        found = names.definition(value)
        inside = found.node is not None and is_within(found.node, row.write.loop.body)
        same = plain_type(_declared_type(value, names) or "", names) == _kind(row, names)
        if found.is_fixed and found.value is not None and inside and same:
            yield from _loaded(row, found.value, names)
    elif place_of(value, names) is not None:
        if _type_of(value, names) == _kind(row, names) and _goes_with_lane(value, row):
            yield Twin(value)
    elif _is_element_of_step(value, row, names):
        variable = next(n for n in of_kind(value, "identifier") if text_of(n) == base_name(value))
        found, kind = names.definition(variable), _declared_type(value, names)
        changed = any(base_name(field(a, "left")) == base_name(value) for a in _assignments(row))
        source = None if found.value is None or changed else unwrapped(found.value)
        if source is not None and kind and place_of(source, names) and _type_of(source, names) == plain_type(kind, names):
            yield Twin(source, value, kind)


def _assignments(row: KeptRow) -> list[Node]:
    """The plain assignments of every step of the loop that writes the row. Others, under conditions, make it nobody's twin."""
    return [
        node
        for node in of_kind(row.write.loop.body, "assignment_expression")
        if text_of(field(node, "operator")) != "=" or is_unconditional(node, row.write) or True
    ]


def _is_same(value: Node, row: KeptRow, names: Names) -> bool:
    """Whether both are one name that has one value in a step."""
    mine, other = _without_casts(row.value, row, names), _without_casts(value, row, names)
    if mine.type != "identifier" or other.type != "identifier" or text_of(mine) != text_of(other):
        return False
    first, second = names.definition(mine), names.definition(other)
    return first.is_fixed and first.node is not None and first.node == second.node and is_within(first.node, row.write.loop.body)
