"""The kernel and the functions that its lanes exchange values in, as one thread does them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from warpsmith.refactor.lanes.common import LANES
from warpsmith.refactor.lanes.differing import Block, Lanes
from warpsmith.refactor.lanes.exchanges import called, calls
from warpsmith.refactor.lanes.plan import Planner
from warpsmith.refactor.lanes.writing import Helper, Writer
from warpsmith.refactor.preconditions import Unmet
from warpsmith.refactor.writing import FreeNames
from warpsmith.source import Edit, Names
from warpsmith.source.threads import launch_uses, teamwork
from warpsmith.source.tree import ancestors, is_within, of_kind, text_of
from warpsmith.source.tree import field as child

if TYPE_CHECKING:
    from tree_sitter import Node

_TAKEN = re.compile(r"(?:const )?(?P<type>[A-Za-z_][\w:<>, ]*?)(?: const)? (?P<name>[A-Za-z_]\w*)(?: ?=.*)?")


@dataclass(slots=True)
class _Function:
    node: Node
    body: Node
    differing: set[int] = field(default_factory=set)


def serial_functions(names: Names, block: Block) -> list[Edit]:
    """Raises Unmet where lanes do together what cannot be written so."""
    source = names.source
    together = teamwork(source)
    meeting = (*together.exchanges, *together.barriers)
    cooperative = _cooperative(names, meeting)
    kernel = _Function(source.function, source.body)
    known: dict[str, _Function] = {}
    waiting = [kernel]
    done: list[_Function] = []
    # What callers hand over decides what differs in the functions they call; a function may be reached twice.
    while waiting:
        function = waiting.pop(0)
        lanes = _lanes(names, function, cooperative, block)
        if function not in done:
            done.append(function)
        for call in calls(function.body):
            if not lanes.is_cooperative_call(call):
                continue
            name = called(call)
            function_called = known.setdefault(name, _Function(cooperative[name], _body(cooperative[name])))
            given = child(call, "arguments").named_children
            more = {n for n, a in enumerate(given) if lanes.differs(a)} - function_called.differing
            if function_called not in done or more:
                function_called.differing |= more
                waiting.append(function_called)
    _require_seen(names, done, meeting)
    free = FreeNames(source.text)
    helpers = {name: _helper(name, function, free) for name, function in known.items()}
    edits = []
    for function in done:
        lanes = _lanes(names, function, cooperative, block)
        writer = Writer(lanes, Planner(lanes, together.barriers).plan(), free, helpers)
        if function is kernel:
            edits.append(Edit(function.body.start_byte, function.body.end_byte, writer.body()))
        else:
            edits.append(_written(names, function, writer, helpers, free))
    return edits


def _lanes(names: Names, function: _Function, cooperative: Mapping[str, Node], block: Block) -> Lanes:
    differing = {_parameter(p)[1] for n, p in enumerate(_parameters(function.node)) if n in function.differing}
    return Lanes(names, function.body, cooperative=cooperative, differing=differing, block=block)


def _cooperative(names: Names, meeting: tuple[Node, ...]) -> dict[str, Node]:
    """Functions in which threads meet, and those that call them."""
    source = names.source
    found: dict[str, Node] = {}
    growing = True
    while growing:
        growing = False
        for name, function in ((n, f) for n in source.device_functions for f in source.functions(n) if not _is_method(f)):
            inside = any(is_within(n, function) for n in meeting)
            if name not in found and (inside or {called(c) for c in calls(function)} & found.keys()):
                found[name] = function
                growing = True
    return found


def _require_seen(names: Names, functions: list[_Function], meeting: tuple[Node, ...]) -> None:
    """All that tells lanes apart is in the functions that are written anew."""
    source = names.source
    for node in meeting:
        if not any(is_within(node, f.node) for f in functions):
            raise Unmet("lanes exchange values in a function whose call cannot be followed", node)
    for body in source.reached():
        for name, uses in launch_uses(body, names).items():
            if name.startswith(("threadIdx.x", "blockDim.x", "threadIdx.*", "blockDim.*")):
                for use in uses:
                    if name.endswith("*") or not any(is_within(use, f.node) for f in functions):
                        raise Unmet(f"a called function uses {text_of(use)}", use)
    for function in functions:
        name = text_of(child(next(of_kind(function.node, "function_declarator")), "declarator"))
        meanings = [f for f in source.functions(name) if not _is_method(f)]
        if function.node != source.function and len(meanings) > 1:
            raise Unmet(f"{name} is declared more than once", function.node)


def _is_method(function: Node) -> bool:
    return any(a.type == "field_declaration_list" for a in ancestors(function))


def _body(function: Node) -> Node:
    return next(c for c in function.children if c.type == "compound_statement")


def _parameters(function: Node) -> list[Node]:
    listed = child(next(of_kind(function, "function_declarator")), "parameters")
    return [p for p in listed.named_children if p.type.endswith("parameter_declaration")]


def _parameter(node: Node) -> tuple[str, str]:
    """Type and name of a parameter that is a plain value."""
    found = _TAKEN.fullmatch(" ".join(text_of(node).split()))
    if found is None:
        raise Unmet(f"a function takes `{' '.join(text_of(node).split())}` of each lane", node)
    return found["type"], found["name"]


def _helper(name: str, function: _Function, free: FreeNames) -> Helper:
    types = tuple(_parameter(p)[0] if n in function.differing else "" for n, p in enumerate(_parameters(function.node)))
    before = text_of(function.node)[: next(of_kind(function.node, "function_declarator")).start_byte - function.node.start_byte]
    return Helper(
        free.take(f"{name.rpartition('::')[2]}_of_lanes"), frozenset(function.differing), types, "void" in before.split()
    )


def _written(names: Names, function: _Function, writer: Writer, helpers: Mapping[str, Helper], free: FreeNames) -> Edit:
    """The function of arrays, behind the original."""
    tree = names.source.tree
    declarator = next(of_kind(function.node, "function_declarator"))
    name = text_of(child(declarator, "declarator"))
    helper = helpers[name]
    definition = function.node
    if definition.parent is not None and definition.parent.type == "template_declaration":
        definition = definition.parent
    taken, before = [], []
    for number, parameter in enumerate(_parameters(function.node)):
        if number not in helper.differing:
            taken.append(tree.text_of(parameter))
            continue
        kind, own = _parameter(parameter)
        given = free.take(f"{own}_given")
        taken.append(f"const {kind}* {given}")
        before += writer.taken(own, kind, given)
    head = tree.data[definition.start_byte : declarator.start_byte].decode()
    comment = f"// {name}, for the {LANES} lanes of a warp in one thread."
    text = f"\n\n{comment}\n{head}{helper.name}({', '.join(taken)}) {writer.body(before)}"
    return Edit(definition.end_byte, definition.end_byte, text)
