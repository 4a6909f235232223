"""Sums as the terms they are written with, so that a term can be replaced where it stands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from warpsmith.source.tree import field, text_of, unwrapped, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_SIGNS = {"+", "-"}


def sums_in(within: Node) -> Iterator[Node]:
    """The largest expressions that are sums or differences."""
    for node in walk(within):
        if _is_sum(node) and not (node.parent is not None and _is_sum(node.parent)):
            yield node


def added_terms(node: Node) -> Iterator[Node]:
    """The terms that are added, not subtracted, in the order of the text; a single term is its own sum."""
    node = unwrapped(node)
    if not _is_sum(node):
        yield node
        return
    yield from added_terms(field(node, "left"))
    if text_of(field(node, "operator")) == "+":
        yield from added_terms(field(node, "right"))


def _is_sum(node: Node) -> bool:
    return node.type == "binary_expression" and text_of(field(node, "operator")) in _SIGNS
