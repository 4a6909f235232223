"""Does it matter which elements share a block? It does where threads combine what they hold and each keeps a result.

A tile in shared memory is a copy of what lies in global memory: whoever made it, it says the same. But a prefix sum over a block,
or a few steps of a stencil, is another one when the block ends elsewhere, and so is what a thread takes of the block's first
element, or of all of them (`lifting.neighbours`). A block's one result is no such case when it is added
to the others' atomically; where there is an element for each block, `source.geometry` says so.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from warpsmith.refactor.lifting.neighbours import told_by_the_block
from warpsmith.source.arrays import arrays_of
from warpsmith.source.dataflow import base_name, dependents, identifiers
from warpsmith.source.effects import sharing_calls
from warpsmith.source.names import Names
from warpsmith.source.scopes import Origin
from warpsmith.source.threads import teamwork
from warpsmith.source.tree import ancestors, field, of_kind, text_of, unwrapped

_OF_LANGUAGE = re.compile(
    r"atom|__|(?:f?m(?:in|ax)|fma|exp|log|sqrt|rsqrt|abs|fabs|pow)f?$|(?:static|reinterpret)_cast\b|(?:u?int|float)$"
)

_VOTE = re.compile(r"__syncthreads_(?:and|or|count)|work_group_(?:all|any|broadcast|reduce_\w+|scan_\w+)")
_BRANCHES = ("if_statement", "while_statement", "do_statement", "for_statement", "conditional_expression")

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node


def combined_in_block(names: Names) -> Node | None:
    """Where a thread stores, as its own result, what the threads of its block made of each other's; None when nowhere."""
    single = (n for node in teamwork(names.source).shared for n in node.children_by_field_name("declarator"))
    shared = {array.name for array in arrays_of(names) if array.is_shared} | {base_name(n) for n in single} - {""}
    body = names.source.body
    if (stored := _voted(names, shared)) is not None:
        return stored
    sharing = {name.partition("<")[0].rpartition("::")[2] for name, _ in sharing_calls(body, names)} | _handed(names, shared)
    if not shared | sharing:
        return None
    taken = dependents(shared | sharing, [body])  # what follows from an element that another thread may have written
    is_combined = any(base_name(place) in shared and not taken.isdisjoint(identifiers(value)) for place, value in _assigned(body))
    # What a function makes in shared memory of what it is given is not looked into.
    if not (is_combined or sharing) and told_by_the_block(names, shared) is None:
        return None
    for place, value in _assigned(body):
        touched = identifiers(value) | identifiers(place)
        if not _is_own(place, names, shared) and not taken.isdisjoint(touched):
            return place
    return None


def _voted(names: Names, shared: set[str]) -> Node | None:
    """What is stored by a vote of the block: its value, or because of it."""
    body = names.source.body
    votes = {name for call in of_kind(body, "call_expression") if _VOTE.fullmatch(name := text_of(field(call, "function")))}
    told = dependents(votes, [body]) if votes else frozenset()
    conditions = [c for c in (n.child_by_field_name("condition") for n in of_kind(body, *_BRANCHES)) if c is not None]
    decides = any(not told.isdisjoint(identifiers(condition)) for condition in conditions) if told else False
    for place, value in _assigned(body) if told else ():
        touched = identifiers(value) | identifiers(place)
        if not _is_own(place, names, shared) and (decides or not told.isdisjoint(touched)):
            return place
    return None


def combined_reason(names: Names, stored: Node) -> str:
    line = names.source.line_of(stored)
    return f"line {line} stores what the threads of a block made together: which elements share a block matters"


def _handed(names: Names, shared: set[str]) -> set[str]:
    """Shared memory that is given to functions other than those of the language: `BlockReduce(storage).Sum(v)`.

    An element that a function of the file takes by value, `force(me, tile[j], sum)`, is read and no more.
    """
    calls = [c for c in of_kind(names.source.body, "call_expression") if not _OF_LANGUAGE.match(text_of(field(c, "function")))]
    handed: set[str] = set()
    for call in calls:
        by_value = _takes_values(call, names)
        uses = (use for use in of_kind(field(call, "arguments"), "identifier") if text_of(use) in shared)
        handed |= {text_of(use) for use in uses if not (by_value and _is_element(use, call))}
    return handed


def _takes_values(call: Node, names: Names) -> bool:
    """Whether all functions that may be meant are known, and none takes a pointer or a reference."""
    called = names.source.functions(text_of(field(call, "function")))
    parameters = [text_of(field(d, "parameters")) for function in called for d in of_kind(function, "function_declarator")]
    return bool(parameters) and not any(re.search(r"[&*\[]|\bauto\b|\.\.\.", text) for text in parameters)


def _is_element(use: Node, call: Node) -> bool:
    """`tile[j]`, and not its address."""
    above = [a for a in ancestors(use) if a.start_byte > call.start_byte and a.end_byte < call.end_byte]
    is_address = any(a.type == "pointer_expression" and text_of(a).startswith("&") for a in above)
    return bool(above) and above[0].type == "subscript_expression" and field(above[0], "argument") == use and not is_address


def _assigned(body: Node) -> Iterator[tuple[Node, Node]]:
    """Elements that are written, and what is written to them."""
    for node in of_kind(body, "assignment_expression"):
        place = unwrapped(field(node, "left"))
        if place.type in {"subscript_expression", "pointer_expression"}:
            yield place, field(node, "right")


def _is_own(place: Node, names: Names, shared: set[str]) -> bool:
    """The block's shared memory, or an array of the thread's."""
    name = base_name(place)
    use = next((n for n in of_kind(place, "identifier") if text_of(n) == name), None)
    found = names.definition(use) if use is not None else None
    local = found is not None and found.origin is Origin.LOCAL and found.node is not None
    is_array = local and found is not None and found.node is not None and any(of_kind(found.node, "array_declarator"))
    return name in shared or bool(is_array)
