"""Does it matter which block does a piece of the work? It does where the kernel asks, beyond finding its place in the grid.

    out[i] = in[i] + blockIdx.x;              blocks of another size are other blocks
    if (blockIdx.x == gridDim.x - 1) …        and another one is the last
    out[i] = in[i] - last; last = in[i];      and the thread that had the element before has another one
    in[i + blockDim.x]                        and a block's width is another distance
    table[threadIdx.x]                        and a thread's place in its block another one
    blockIdx.x % columns * kTile              and columns, an argument, counts tiles of one size

Blocks that each have a piece of their own, whatever their size, are no such case: nothing is dealt out to them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from warpsmith.refactor.lifting.surplus import effects
from warpsmith.refactor.loops.collecting import require_no_own_results
from warpsmith.refactor.preconditions import Unmet
from warpsmith.source.arrays import arrays_of
from warpsmith.source.dataflow import base_name, declared_names, dependents, exits, identifiers, is_in_inner_loop
from warpsmith.source.geometry import subscripts_of
from warpsmith.source.independence import carried
from warpsmith.source.loops import Loop, LoopKind, loops_of
from warpsmith.source.names import Names
from warpsmith.source.polynomial import Polynomial
from warpsmith.source.threads import teamwork
from warpsmith.source.tree import ancestors, field, is_within, of_kind, text_of, unwrapped
from warpsmith.source.wholes import ARITHMETIC, is_alias, whole_expressions

if TYPE_CHECKING:
    from tree_sitter import Node


def not_looked_into(names: Names) -> str | None:
    """What may tell threads apart where nobody can see it."""
    telling = teamwork(names.source).telling
    return (
        None
        if telling is None
        else f"the kernel uses {telling.strip(' .(')}, which may tell threads apart in ways not looked into"
    )


def asked_in_loops(names: Names, axis: str) -> str | None:
    """Why steps that are dealt out to the threads of the whole grid cannot be dealt out otherwise."""
    loops = [loop for loop in loops_of(names.source.body, names) if loop.kind is LoopKind.GRID_STRIDE and loop.axis == axis]
    for loop in loops:
        reason = asked_of_block(names, axis, {f"blockDim.{axis}"}, [loop.body])
        if reason is not None:
            return reason
    try:
        require_no_own_results([name for loop in loops for name in sorted(set(carried(loop, names)))], loops, names)
    except Unmet as unmet:
        return unmet.reason
    return None


def known_from_before(names: Names, axis: str) -> str | None:
    """Why the threads along an axis cannot be more or fewer: what a step of a loop does depends on the thread's steps before."""
    shared = {array.name for array in arrays_of(names) if array.is_shared}
    for body in names.source.reached():
        for loop in loops_of(body, names):
            if loop.step is None or not Polynomial.of(loop.start, names).mentions(f"threadIdx.{axis}"):
                continue
            leave = next((way for way in _ways_out(loop) if not _asks_for_the_end(way, loop, names)), None)
            if leave is not None:
                line = names.source.line_of(leave)
                return f"line {line} leaves the loop over {loop.variable}: how far a thread gets depends on its elements"
            own = set(carried(loop, names)) - {loop.variable} - shared
            told = _told(loop, own, names)
            if told is not None:
                known = " and ".join(sorted(own))
                return f"line {names.source.line_of(told)} depends on {known} of the thread's steps before"
    return None


def _told(loop: Loop, own: Collection[str], names: Names) -> Node | None:
    """The first effect of a step that depends on what the steps before left in these variables."""
    known = dependents(own, [loop.body]) if own else frozenset()
    for effect in effects(loop.body, names) if known else ():
        conditions = (a.child_by_field_name("condition") for a in ancestors(effect) if is_within(a, loop.body))
        if any(not known.isdisjoint(identifiers(part)) for part in (effect, *conditions) if part is not None):
            return effect
    return None


def _ways_out(loop: Loop) -> Iterator[Node]:
    yield from exits(loop.body)
    yield from of_kind(loop.body, "goto_statement")
    yield from (node for node in of_kind(loop.body, "break_statement") if not is_in_inner_loop(node, loop.body))


def _asks_for_the_end(leave: Node, loop: Loop, names: Names) -> bool:
    """`if (i >= n) break;`: all later steps would be left out, too."""
    decision = next((a for a in ancestors(leave) if a.type == "if_statement"), None)
    if decision is None or not is_within(decision, loop.body):
        return False
    clause = field(decision, "condition")
    condition = unwrapped(clause.child_by_field_name("value") or clause)
    if condition.type != "binary_expression" or text_of(field(condition, "operator")) not in {"<", "<=", ">", ">="}:
        return False
    sides = [unwrapped(field(condition, side)) for side in ("left", "right")]
    changed = set(carried(loop, names)) | {name for node in of_kind(loop.body, "declaration") for name in declared_names(node)}
    return any(text_of(side) == loop.variable for side in sides) and all(
        side.type in {"identifier", "number_literal"} and text_of(side) not in changed for side in sides
    )


def asked_of_block(names: Names, axis: str, extents: Collection[str], within: Sequence[Node] = ()) -> str | None:
    """Why work that is dealt out to blocks along an axis cannot be dealt out otherwise. `extents` are what gives their size."""
    own = _own_arrays(names)
    for node, polynomial in _expressions(names, within):
        line, text = names.source.line_of(node), text_of(node)
        for name in (f"blockIdx.{axis}", f"gridDim.{axis}"):
            if any(_asks(term, name, extents) for term in polynomial.terms) and not _counts_tiles(node, names, extents):
                return f"line {line} asks for {name} ({text}): blocks of another size are other blocks"
        if _is_beside(polynomial, axis, extents) and _accessed(node, own) is not None:
            return f"line {line} goes a block's width further ({text}), which is another distance for another size"
    return None


def found_by_division(names: Names, parameter: str, axis: str) -> str | None:
    """Why tiles are no choice: a block finds its own by dividing its number by counts that were made for just this size."""
    for node, polynomial in _expressions(names):
        for term in polynomial.terms:
            inside = (atom for atom in term if atom != f"blockIdx.{axis}" and _mentions(atom, {f"blockIdx.{axis}"}))
            if parameter in term and next(inside, None) is not None:
                by = f"line {names.source.line_of(node)} finds a block's tile by dividing blockIdx.{axis}"
                return f"{by}, and grid.{axis} does not show how many tiles of another size there are"
    return None


def placed_by_shift(names: Names, axis: str) -> str | None:
    """Why a block's size is not free: `blockIdx.x << 7` puts blocks 128 apart, whatever their size."""
    for body in names.source.reached():
        for node in of_kind(body, "binary_expression"):
            place = Polynomial.of(field(node, "left"), names)
            if text_of(field(node, "operator")) == "<<" and place.mentions(f"blockIdx.{axis}"):
                return f"line {names.source.line_of(node)} places blocks by a shift ({text_of(node)})"
    return None


def read_at_thread(names: Names, axis: str) -> str | None:
    """Why a block's size is not free: an array in device memory has elements for the threads of a block, not of the grid."""
    own = _own_arrays(names)
    for node, polynomial in _expressions(names):
        access = _accessed(node, own) if polynomial.mentions(f"threadIdx.{axis}") else None
        if access is None:
            continue
        indices, base = subscripts_of(access)
        placed = any(Polynomial.of(i, names).mentions("blockIdx") or _is_stepped(Polynomial.of(i, names)) for i in indices)
        if not placed and not Polynomial.of(base, names).mentions("blockIdx"):
            return f"line {names.source.line_of(node)} reads {text_of(base)} at a thread's place in its block"
    return None


def _own_arrays(names: Names) -> set[str]:
    """Of the thread's or the block's own memory."""
    return {array.name for array in arrays_of(names)} | {parameter.name for parameter in names.source.local_parameters}


def _accessed(node: Node, own: Collection[str]) -> Node | None:
    """The element of device memory that an expression is an index of; None for none, and for one that only fills a tile."""
    outer = (a for a in ancestors(node) if a.type == "subscript_expression" and is_within(node, field(a, "indices")))
    access = next(outer, None)
    return None if access is None or base_name(access) in own or _fills(access, own) else access


def _expressions(names: Names, within: Sequence[Node] = ()) -> Iterator[tuple[Node, Polynomial]]:
    for body in within or names.source.reached():
        for node in whole_expressions(body, ARITHMETIC):
            if not is_alias(node, names):
                yield node, Polynomial.of(node, names)


def _asks(term: Collection[str], name: str, extents: Collection[str]) -> bool:
    """Whether the name stands there without the block's size, in whose units places in the grid are counted."""
    if name in term:
        return not any(_mentions(atom, extents) for atom in term)
    return any(Polynomial.atom(atom).mentions(name) and not _mentions(atom, extents) for atom in term)


def _mentions(atom: str, extents: Collection[str]) -> bool:
    return any(Polynomial.atom(atom).mentions(extent) for extent in extents)


def _counts_tiles(bound: Node, names: Names, extents: Collection[str]) -> bool:
    """Whether a loop over pieces of a block's size ends there: `for (t = 0; t < gridDim.x; t++) … p[t * blockDim.x + j]`."""
    loops = (a for a in ancestors(bound) if a.type == "for_statement")
    loop = next((found for node in loops for found in loops_of(node, names) if unwrapped(found.bound) == unwrapped(bound)), None)
    if loop is None or names.value(loop.start) != 0:
        return False
    terms = [term for _, polynomial in _expressions(names, [loop.body]) for term in polynomial.terms if loop.atom in term]
    return bool(terms) and all(any(_mentions(atom, extents) for atom in term) for term in terms)


def _is_beside(polynomial: Polynomial, axis: str, extents: Collection[str]) -> bool:
    """A place in the grid, and whole blocks further; half of a block's share further is another element of the thread's own."""
    share = polynomial.coefficient(f"blockIdx.{axis}")
    if share is None or len(share.terms) != 1 or polynomial.coefficient(f"threadIdx.{axis}") != Polynomial.constant(1):
        return False
    (size, times), *_ = share.terms.items()
    return bool(set(size) & set(extents)) and polynomial.terms.get(size, 0) % times == 0 and size in polynomial.terms


def _is_stepped(polynomial: Polynomial) -> bool:
    return any(map(_is_stepped_term, polynomial.terms))


def _is_stepped_term(term: Collection[str]) -> bool:
    """The variable of a loop is in it: all of a range is gone over."""
    return any("@" in atom for atom in term)


def _fills(access: Node, own: Collection[str]) -> bool:
    """Whether what is read goes into the block's memory as it is, where `lifting.neighbours` asks what becomes of it."""
    store = next((a for a in ancestors(access) if a.type == "assignment_expression"), None)
    return store is not None and base_name(unwrapped(field(store, "left"))) in own
