"""An expression as text that can stand at an earlier place: names that have no value there yet are replaced by what they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warpsmith.source.names import Names
from warpsmith.source.scopes import Origin
from warpsmith.source.tree import of_kind, text_of, unwrapped

if TYPE_CHECKING:
    from tree_sitter import Node

_DEPTH = 16


def expanded(node: Node, place: Node, names: Names, depth: int = _DEPTH) -> str | None:
    """The expression's text with the same value before the statement `place`; None where a name in it can change."""
    data = names.source.tree.data
    pieces: list[str] = []
    position = node.start_byte
    for use in of_kind(node, "identifier"):
        found = names.definition(use)
        if found.origin in {Origin.LOCAL, Origin.LOOP}:
            if not found.is_fixed or found.value is None or found.node is None or depth == 0:
                return None
            if found.node.end_byte <= place.start_byte:
                continue
            inner = expanded(found.value, place, names, depth - 1)
            if inner is None:
                return None
            single = unwrapped(found.value).type in {"identifier", "number_literal", "call_expression", "field_expression"}
            pieces += [data[position : use.start_byte].decode(), inner if single else f"({inner})"]
            position = use.end_byte
        elif found.origin is Origin.PARAMETER and not found.is_fixed:
            return None
    return "".join([*pieces, data[position : node.end_byte].decode()]) if text_of(node) else None
