"""C's comparisons: those of order with their sides exchanged, and their opposites; and all that a kernel makes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from warpsmith.source.tree import field, of_kind, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from warpsmith.source.kernel import KernelSource

MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_COMPARING = NEGATED.keys() | {"==", "!="}


def comparisons(source: KernelSource) -> Iterator[tuple[Node, Node, str]]:
    """Each read from either side: one, the other, and the operator with the first on its left."""
    for body in source.reached():
        for node in of_kind(body, "binary_expression"):
            operator = text_of(field(node, "operator"))
            if operator in _COMPARING:
                left, right = field(node, "left"), field(node, "right")
                yield left, right, operator
                yield right, left, MIRRORED.get(operator, operator)
