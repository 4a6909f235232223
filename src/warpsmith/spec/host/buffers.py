"""Number of elements of a launch's memory, from the call that allocated it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from warpsmith.spec.declarations import text_of
from warpsmith.spec.host.expressions import HostFrame
from warpsmith.spec.host.follow import Follower
from warpsmith.spec.host.index import HostVariable, arguments_of, called
from warpsmith.spec.host.terms import SizeTerm, product

if TYPE_CHECKING:
    from tree_sitter import Node

_ALLOCATION = re.compile(r"(?:cuda|hip)Malloc(?:Managed|Async|Host|FromPoolAsync)?|(?:cuda|hip)HostAlloc|hipHostMalloc")
_MAX_STEPS = 8


@dataclass(frozen=True, slots=True)
class Allocation:
    size_bytes: SizeTerm
    line: int


@dataclass(frozen=True, slots=True)
class Pointer:
    """The variable, or its member, that a pointer is a plain copy of; no variable for a member of the enclosing class."""

    name: str
    variable: HostVariable | None
    member: str | None = None


def pointer(follower: Follower, node: Node, frame: HostFrame) -> Pointer | None:
    """None for anything but a variable: the rest of the memory at `a + n` is not the whole allocation."""
    for _ in range(_MAX_STEPS):
        node = _bare(node)
        owner, member = _owner(node)
        variable = follower.variable(text_of(owner), frame) if owner is not None else None
        if owner is None:
            return None
        known = Pointer(text_of(owner), variable, member)
        if variable is None or member is not None:
            return known
        if follower.is_parameter(variable):
            source = follower.passed(variable)
            if source is None:
                return known
            node, frame = source
        elif (copied := _copied(follower, variable)) is not None:
            node, frame = copied
        else:
            return known
    return None


def allocation(follower: Follower, found: Pointer) -> Allocation | None:
    """None if there was none, it could not be followed, or there are several different ones."""
    variable = found.variable
    if variable is not None and "vector" in variable.type:
        return _of_vector(follower, variable)
    sizes: dict[SizeTerm, int] = {}
    for call in follower.index.calls:
        name, _ = called(call)
        given = arguments_of(call)
        if not _ALLOCATION.fullmatch(name) or len(given) < 2:
            continue
        target = _bare(given[0])
        inner = target.child_by_field_name("argument") if target.type == "pointer_expression" else None
        owner, member = _owner(inner) if inner is not None else (None, None)
        name = text_of(owner) if owner is not None else ""
        if Pointer(name, follower.variable(name, HostFrame(call.start_byte)), member) != found:
            continue
        size = follower.whole(given[1], HostFrame(call.start_byte))
        if size is None:
            return None
        sizes.setdefault(size, follower.index.line(call.start_byte))
    return Allocation(*next(iter(sizes.items()))) if len(sizes) == 1 else None


def _copied(follower: Follower, variable: HostVariable) -> tuple[Node, HostFrame] | None:
    """The variable that another pointer is copied from, in its declaration or in its only assignment."""
    changes = follower.index.changes(variable)
    given = [(value, variable.place) for value in variable.values if value.type != "null"]
    if not given and len(changes) == 1 and changes[0].value is not None:
        given = [(changes[0].value, changes[0].place)]
    is_copy = variable.depth == 1 and len(given) == 1 and _bare(given[0][0]).type == "identifier"
    return (given[0][0], HostFrame(given[0][1])) if is_copy else None


def _of_vector(follower: Follower, variable: HostVariable) -> Allocation | None:
    """`thrust::device_vector<float> a(n)`."""
    element = re.search(r"vector\s*<\s*([\w:\s]+?)\s*>$", variable.type)
    size_bytes = follower.size_of(element[1], HostFrame(variable.place)) if element else None
    count = follower.length_of(variable)
    if size_bytes is None or count is None:
        return None
    return Allocation(product(size_bytes, count), follower.index.line(variable.place))


def _owner(node: Node) -> tuple[Node | None, str | None]:
    """`a` of `a`; `s` and `a` of `s.a`."""
    if node.type == "field_expression":
        owner, part = node.child_by_field_name("argument"), node.child_by_field_name("field")
        is_plain = owner is not None and owner.type == "identifier" and part is not None
        return (owner, text_of(part)) if is_plain and part is not None else (None, None)
    return (node if node.type == "identifier" else None), None


def _bare(node: Node) -> Node:
    """Without casts, parentheses, and calls that get a vector's pointer."""
    for _ in range(_MAX_STEPS):
        match node.type:
            case "parenthesized_expression" if node.named_children:
                node = node.named_children[0]
            case "cast_expression":
                node = node.child_by_field_name("value") or node.children[0]
            case "call_expression" if called(node)[0] in {"raw_pointer_cast", "reinterpret_cast", "static_cast"}:
                node = (arguments_of(node) or [node])[0]
            case "call_expression" if re.fullmatch(r"\w+\s*\.\s*data\s*\(\s*\)", text_of(node)):
                function = node.child_by_field_name("function")
                owner = function.child_by_field_name("argument") if function is not None else None
                node = owner if owner is not None else node.children[0]
            case _:
                break
    return node
