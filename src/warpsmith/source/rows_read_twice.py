"""Recognises rows that a kernel reads from global memory more than once, each thread the same elements in the same steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from warpsmith.source.access_paths import Place, read_places
from warpsmith.source.effects import is_invariant
from warpsmith.source.loops import Loop, loops_of
from warpsmith.source.names import Names
from warpsmith.source.polynomial import Polynomial
from warpsmith.source.structs import pointee_type
from warpsmith.source.tree import BRANCHES, ancestors, is_within, text_of, unwrapped
from warpsmith.source.tree import field as field_of

if TYPE_CHECKING:
    from tree_sitter import Node

_SOMETIMES = BRANCHES | {"case_statement", "conditional_expression", "lambda_expression", "sizeof_expression", "decltype"}


@dataclass(frozen=True, slots=True)
class RowReadTwice:
    """`first` is read in every step of `loop`; `again` are the reads of the same elements in loops after it."""

    loop: Loop
    first: Node = field(repr=False)
    again: tuple[tuple[Loop, Node], ...] = field(repr=False)
    pointee: str  # as it was declared, without const

    @property
    def loops(self) -> tuple[Loop, ...]:
        found = {loop.node.start_byte: loop for loop in (self.loop, *(loop for loop, _ in self.again))}
        return tuple(found.values())


def row_read_twice(names: Names, strided: Sequence[Loop], inputs: frozenset[str]) -> RowReadTwice | None:
    """The first one. `inputs` are the buffers that are only read, `strided` the loops whose steps a block's threads share."""
    for loop in strided:
        for place in _places(loop, names, inputs):
            kind = _declared_pointee(place.node, names)
            if kind is None or not _is_in_every_step(place.node, loop):
                continue
            again = tuple(
                (o, n) for o in strided if _has_same_steps(loop, o, names) for n in _same(place, loop, o, names, inputs)
            )
            if again:
                return RowReadTwice(loop, place.node, again, kind)
    return None


def _places(loop: Loop, names: Names, inputs: frozenset[str]) -> list[Place]:
    """Elements `from[i]` of buffers that nobody writes, at an address that follows the step and nothing that changes."""
    if loop.jumps() or loop.changes_variable(names):
        return []
    found = []
    around = {
        o.atom for o in loops_of(names.source.body, names) if is_within(loop.node, o.body) and not o.changes_variable(names)
    }
    for place in read_places(loop.body, names):
        by_address = place.node.parent is not None and place.node.parent.type == "pointer_expression"
        is_element = place.node.type == "subscript_expression" and not by_address
        if not is_element or not place.roots <= inputs or len(place.addresses) != 1:
            continue
        factor = place.addresses[0].coefficient(loop.atom)
        rest = place.addresses[0].without(loop.atom).atoms - around
        if factor == Polynomial.constant(1) and not any("@" in atom for atom in rest):
            found.append(place)
    return found


def _same(place: Place, first: Loop, second: Loop, names: Names, inputs: frozenset[str]) -> list[Node]:
    wanted = place.addresses[0].without(first.atom)
    found = [
        p for p in _places(second, names, inputs) if p.roots == place.roots and p.addresses[0].without(second.atom) == wanted
    ]
    return [p.node for p in found if _declared_pointee(p.node, names) == _declared_pointee(place.node, names)]


def _is_in_every_step(node: Node, loop: Loop) -> bool:
    for outer in ancestors(node):
        if outer == loop.body:
            return True
        shortcut = outer.type == "binary_expression" and text_of(field_of(outer, "operator")) in {"&&", "||"}
        if outer.type in _SOMETIMES or shortcut:
            return False
    return False


def _has_same_steps(first: Loop, second: Loop, names: Names) -> bool:
    if second.node.start_byte <= first.node.start_byte or first.node.parent != second.node.parent:
        return False
    parts = [[o.start, o.bound, *([] if o.step is None else [o.step])] for o in (first, second)]
    fixed = all(is_invariant(n, names.source.body, names) for nodes in parts for n in nodes)
    one, other = ([Polynomial.of(n, names) for n in nodes] for nodes in parts)
    return fixed and one == other


def _declared_pointee(element: Node, names: Names) -> str | None:
    """How the type of what is read was written, where the array is a name declared as a pointer to it."""
    pointer = unwrapped(field_of(element, "argument"))
    if pointer.type != "identifier" or pointee_type(pointer, names) is None:
        return None
    declarator = names.definition(pointer).node
    assert declarator is not None  # or it would have no type
    declaration = declarator if declarator.type.endswith("parameter_declaration") else declarator.parent
    kind = declaration.child_by_field_name("type") if declaration is not None else None
    return None if kind is None else text_of(kind)
