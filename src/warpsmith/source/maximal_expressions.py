"""Expressions as wholes: what is computed before anything is done with it, and names that only stand for such an expression."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from warpsmith.source.names import Names
from warpsmith.source.tree import ancestors, field, of_kind, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

SUMS = frozenset({"+", "-", "*"})
ARITHMETIC = SUMS | {"/", "%", ">>", "<<", "&"}
_KINDS = ("binary_expression", "field_expression", "identifier", "call_expression", "cast_expression")
_LOOKED_THROUGH = ("static_cast", "get_")  # conversions, and OpenCL's built-in names


def whole_expressions(body: Node, operators: frozenset[str]) -> Iterator[Node]:
    """Expressions over these operators that are not part of larger ones; names and built-ins that stand alone."""
    for node in of_kind(body, *_KINDS):
        if node.type == "binary_expression" and text_of(field(node, "operator")) not in operators:
            continue
        if node.type == "call_expression" and not text_of(node).startswith(_LOOKED_THROUGH):
            continue
        parent = outer(node)
        if parent is None or parent.type in {"cast_expression", "field_expression"}:
            continue
        if parent.type == "binary_expression" and text_of(field(parent, "operator")) in operators:
            continue
        if parent.type == "argument_list" and parent.parent is not None and text_of(parent.parent).startswith(_LOOKED_THROUGH):
            continue
        declares = parent.type in {"init_declarator", "declaration", "parameter_declaration"}
        if node.type == "identifier" and (declares and parent.child_by_field_name("declarator") == node):
            continue
        yield node


def is_alias(node: Node, names: Names) -> bool:
    """The value of a name that nothing changes: what counts is how that is used."""
    parent = node.parent
    while parent is not None and parent.type in {"parenthesized_expression", "cast_expression"}:
        parent = parent.parent
    if parent is None or parent.type != "init_declarator" or parent.parent is None:
        return False
    if parent.parent.parent is not None and parent.parent.parent.type == "for_statement":
        return False
    declared = field(parent, "declarator")
    scope = next((a for a in ancestors(parent) if a.type == "compound_statement"), None)
    return declared.type == "identifier" and scope is not None and not names.is_assigned(text_of(declared), scope)


def outer(node: Node) -> Node | None:
    """The parent, without brackets between."""
    parent = node.parent
    while parent is not None and parent.type == "parenthesized_expression":
        parent = parent.parent
    return parent
