"""Does it matter which elements share a thread? It does where a thread sums up its elements and stores that with each of them.

`for (k < ITEMS) sum += v[k]; for (k < ITEMS) out[base + k] = v[k] / sum`: groups of ITEMS are part of the result. Not so where
the sum goes on to other threads first, by an exchange, a function or shared memory: then it is the block's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from warpsmith.refactor.lifting.surplus import effects
from warpsmith.refactor.lifting.symbolic import Symbolic
from warpsmith.source.arrays import arrays_of
from warpsmith.source.dataflow import base_name, dependents, identifiers
from warpsmith.source.independence import carried
from warpsmith.source.loops import Loop, loops_of
from warpsmith.source.tree import field, of_kind, unwrapped

if TYPE_CHECKING:
    from tree_sitter import Node


def own_groups(lifted: Symbolic) -> dict[str, str]:
    """By parameter: why a thread cannot have more or fewer elements."""
    refused: dict[str, str] = {}
    arrays = {array.name for array in arrays_of(lifted.names)}
    for body in lifted.source.reached():
        loops = [loop for loop in loops_of(body, lifted.names) if lifted.names.expression(loop.bound) in lifted.constants]
        handed = _handed_on(body, lifted)
        for loop in loops:
            own = set(carried(loop, lifted.names)) - arrays - handed - {loop.variable}
            known = dependents(own, [body]) if own else frozenset[str]()
            for other in (o for o in loops if known and o.node.start_byte >= loop.node.end_byte and _as_many(o, loop, lifted)):
                told = next((e for e in effects(other.body, lifted.names) if not known.isdisjoint(identifiers(e))), None)
                if told is not None:
                    line = lifted.source.line_of(told)
                    reason = f"line {line} stores what a thread made of all its elements: which of them share a thread matters"
                    refused.setdefault(lifted.names.expression(loop.bound) or "", reason)
    return refused


def _as_many(one: Loop, other: Loop, lifted: Symbolic) -> bool:
    return lifted.names.expression(one.bound) == lifted.names.expression(other.bound)


def _handed_on(body: Node, lifted: Symbolic) -> set[str]:
    """What other threads may get: arguments of calls, and what is stored in shared memory."""
    shared = {array.name for array in arrays_of(lifted.names) if array.is_shared}
    handed = {name for call in of_kind(body, "call_expression") for name in identifiers(field(call, "arguments"))}
    for store in of_kind(body, "assignment_expression"):
        if base_name(unwrapped(field(store, "left"))) in shared:
            handed |= identifiers(field(store, "right"))
    return handed
