"""Whether the steps of loops can be done in any order, by anyone: what they write, where, and what they read of it.

Two steps that write the same place are only ordered when one thread does both, so a kernel that is right for any number of
threads writes different places in different steps. What remains to be shown is that the place follows the loop's variable at
all, and that nothing is carried from step to step in a variable or through memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from warpsmith.source.access_paths import Place, place_of, read_places, written_places
from warpsmith.source.dataflow import base_name
from warpsmith.source.effects import updates_atomically
from warpsmith.source.loops import Loop
from warpsmith.source.names import Names
from warpsmith.source.polynomial import Polynomial
from warpsmith.source.tree import field, is_within, of_kind, text_of, unwrapped, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_INNER = r"((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)"  # text with brackets in pairs, two deep


def dependence(loops: Sequence[Loop], names: Names) -> str | None:
    """What keeps the steps of these loops from being independent, in words; None when they are."""
    body = names.source.body
    if updates_atomically(body, names):
        return "the kernel updates memory atomically"
    writes = list(written_places(body, names))
    problems = (problem for w in writes if (problem := _misplaced(w, loops, names)) is not None)
    changed = (f"{name} is carried between iterations over {o.variable}" for o in loops for name in carried(o, names))
    return next(problems, None) or next(changed, None) or _read_elsewhere(body, writes, loops, names)


def reads_nothing_written(names: Names) -> bool:
    """Whether the kernel's buffers are either read or written: then a step that is done again writes the same values again."""
    body = names.source.body
    written = {root for place in written_places(body, names) for root in place.roots}
    read = {root for place in read_places(body, names) for root in place.roots}
    return "?" not in read | written and not read & written


def _misplaced(write: Place, loops: Sequence[Loop], names: Names) -> str | None:
    line = names.source.line_of(write.node)
    loop = next((o for o in loops if is_within(write.node, o.body)), None)
    if loop is None:
        return f"line {line} writes memory outside the distributed loops"
    if "?" in write.roots:
        return f"cannot tell what line {line} writes to"
    if not all(follows(address, loop) for address in write.addresses):
        return f"cannot prove that line {line} writes disjoint elements in each iteration over {loop.variable}"
    return None


def follows(address: Polynomial, loop: Loop) -> bool:
    """Whether different steps have different addresses: linear in the variable, or in a quotient and the remainder to it."""
    if any(address.mentions(f"{name}.{loop.axis or 'x'}") for name in ("threadIdx", "blockDim")):
        return False
    factor = address.coefficient(loop.atom)
    if factor is not None and factor.terms:
        return True
    i, text = re.escape(loop.atom), str(address)
    if re.search(rf"\[[^\]]*{i}", text):
        return False  # an index that is itself read from memory
    quotients, remainders = (set(re.findall(rf"\({i}{sign}{_INNER}\)", text)) for sign in "/%")
    return bool(quotients & remainders)


def _read_elsewhere(body: Node, writes: Sequence[Place], loops: Sequence[Loop], names: Names) -> str | None:
    """Whether something that a step writes is read other than at that same place, in a step of the same number."""
    ranges = {tuple(text_of(part) for part in (o.start, o.bound, o.step) if part is not None) for o in loops}
    for read in read_places(body, names):
        line = names.source.line_of(read.node)
        for write in (w for w in writes if w.roots & read.roots or "?" in read.roots):
            in_loops = any(is_within(read.node, o.body) for o in loops)
            same_loop = any(is_within(write.node, o.node) and is_within(read.node, o.node) for o in loops)
            same_thread = same_loop or (len(ranges) == 1 and not any(names.is_assigned(root, body) for root in write.roots))
            if not (in_loops and same_thread and _of_any_loop(read, loops) == _of_any_loop(write, loops)):
                return f"line {line} may read what another iteration writes"
    return None


def _of_any_loop(place: Place, loops: Sequence[Loop]) -> tuple[str, ...]:
    """Its addresses with the loops' variables made one: over the same range, the same thread has the same steps of all loops.

    A place that depends on names which may change is like no other.
    """
    texts = [str(address) for address in place.addresses]
    for loop in loops:
        texts = [text.replace(loop.atom, "i") for text in texts]
    return tuple(text if "@" not in text else f"{text} at {place.node.start_byte}" for text in texts)


def carried(loop: Loop, names: Names) -> Iterator[str]:
    """Variables from outside that a step changes, other than by writing through them as pointers."""
    for node in walk(loop.body):
        if node.type == "assignment_expression":
            target = field(node, "left")
        elif node.type == "update_expression" or (node.type == "pointer_expression" and text_of(field(node, "operator")) == "&"):
            target = field(node, "argument")
        elif node.type == "call_expression" and field(node, "function").type == "field_expression":
            target = field(field(node, "function"), "argument")
        else:
            continue
        if place_of(unwrapped(target), names) is not None:
            continue
        name = base_name(target)
        use = next((n for n in of_kind(target, "identifier") if text_of(n) == name), None)
        declarator = names.definition(use).node if use is not None else None
        if declarator is None or not is_within(declarator, loop.body):
            yield name or text_of(target)
