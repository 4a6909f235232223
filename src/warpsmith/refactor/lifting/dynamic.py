"""Dynamic shared memory: what the launch gives must go on to hold what the kernel puts there, for other blocks and tiles too.

An element for each thread, or for each place that a loop fills: where the author's bytes are just those, they follow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from warpsmith.refactor.extents import names_of, same, substituted, tidy, value_at
from warpsmith.refactor.lifting.reach import Reach
from warpsmith.refactor.lifting.symbolic import Symbolic
from warpsmith.refactor.lifting.threads import Use, thread_uses
from warpsmith.source.arrays import Array, arrays_of, named_in_macros
from warpsmith.source.dataflow import base_name, identifiers
from warpsmith.source.geometry import indices_into, subscripts_of
from warpsmith.source.maximal_expressions import outer
from warpsmith.source.polynomial import Polynomial
from warpsmith.source.symbolic_bounds import End
from warpsmith.source.tree import field, of_kind, text_of

if TYPE_CHECKING:
    from tree_sitter import Node


def dynamic_bytes(lifted: Symbolic, block: Sequence[str], shared: str) -> str | frozenset[str]:
    """The launch's dynamic bytes in terms of the parameters; where that is not clear, the parameters that it depends on."""
    arrays = {array.name: array for array in arrays_of(lifted.names) if array.is_dynamic}
    threads = tidy(" * ".join(f"({extent})" for extent in block))
    of_block = names_of(threads) & lifted.constants.keys()
    reach = Reach(lifted.names, block, limits=True)
    concerned = _mentioned(lifted, arrays, reach)
    hidden = any(named_in_macros(name, lifted.names) for name in arrays)
    if hidden or _indexed_by_thread(lifted, frozenset(arrays)):
        concerned |= of_block
    if not arrays or not concerned:
        return shared
    sizes = {lifted.names.size_of(array.element) for array in arrays.values()}
    size = sizes.pop() if len(sizes) == 1 else None
    if size is None:
        return concerned
    for elements in (threads, *_filled(lifted, arrays, reach)):
        needed = tidy(f"{size} * ({elements})")
        if same(_as_it_was(needed, lifted), shared):
            return needed
    return concerned


def _mentioned(lifted: Symbolic, arrays: Mapping[str, Array], reach: Reach) -> frozenset[str]:
    """Parameters that the places of elements follow from, or where a part of the memory begins (`memory + TILE * TILE`)."""
    found: set[str] = set()
    parts = {base_name(field(declarator, "declarator")) for declarator in _parts(lifted, arrays)}
    for index in indices_into(arrays.keys() | parts, lifted.source):
        last = reach.of(index, End.GREATEST)
        if last is None:
            found |= {c for c in lifted.constants if Polynomial.of(index, lifted.names).mentions(c)}
        elif not same(last, _as_it_was(last, lifted)):  # `(n / LANES - 1) * LANES + LANES - 1` ends with n, whatever they are
            found |= names_of(last) & lifted.constants.keys()
    for declarator in _parts(lifted, arrays):
        place = Polynomial.of(field(declarator, "value"), lifted.names)
        found |= {c for c in lifted.constants if place.mentions(c)}
    return frozenset(found)


def _parts(lifted: Symbolic, arrays: Mapping[str, Array]) -> Iterator[Node]:
    """Pointers that are declared as a place in the memory."""
    for body in lifted.source.reached():
        for declarator in of_kind(body, "init_declarator"):
            is_pointer = field(declarator, "declarator").type == "pointer_declarator"
            value = declarator.child_by_field_name("value")
            if is_pointer and value is not None and not identifiers(value).isdisjoint(arrays):
                yield declarator


def _filled(lifted: Symbolic, arrays: Mapping[str, Array], reach: Reach) -> list[str]:
    """How many elements there are, up to the last that an access may reach: where that is furthest as it was."""
    lasts = (reach.of(index, End.GREATEST) for index in indices_into(arrays, lifted.source))
    ends = [f"({last}) + 1" for last in lasts if last is not None]
    known = [(value, text) for text in ends if (value := value_at(text, lifted.defaults)) is not None]
    return [max(known)[1]] if known else []


def _as_it_was(text: str, lifted: Symbolic) -> str:
    return substituted(text, {name: str(lifted.defaults[name]) for name in names_of(text) & lifted.constants.keys()})


def _indexed_by_thread(lifted: Symbolic, arrays: frozenset[str]) -> bool:
    for axis in "xyz":
        for use in thread_uses(lifted.names, axis):
            parent = outer(use.node)
            while parent is not None and parent.type == "subscript_argument_list":
                parent = parent.parent
            if use.kind is Use.STRIDED or parent is None or parent.type != "subscript_expression":
                continue
            if text_of(subscripts_of(parent)[1]) in arrays:
                return True
    return False
