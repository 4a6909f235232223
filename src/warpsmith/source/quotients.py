"""Shifts and masks by constants as products, quotients and remainders, which is what index arithmetic is compared by.

    threadIdx.x >> 5        threadIdx.x / 32
    threadIdx.x & 31    →   threadIdx.x % 32
    row << 2                row * 4

The meaning is the same where the number is not negative. The tokens are not: a form for passes to start from.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from warpsmith.source.kernel import KernelSource
from warpsmith.source.names import Names
from warpsmith.source.signs import Signs
from warpsmith.source.tree import Edit, field, of_kind, text_of, unwrapped

if TYPE_CHECKING:
    from tree_sitter import Node

_ATOMS = frozenset({"identifier", "field_expression", "number_literal", "call_expression", "parenthesized_expression"})
_FURTHEST = 16


def with_quotients(source: KernelSource) -> str:
    """The whole file's text; as it was where nothing is shifted or masked."""
    names = Names(source)
    signs = Signs(names)
    return source.edited(*(e for node in of_kind(source.body, "binary_expression") for e in _edits(node, names, signs)))


def _edits(node: Node, names: Names, signs: Signs) -> Iterator[Edit]:
    left, sign, right = (field(node, part) for part in ("left", "operator", "right"))
    operator, by = {"<<": "*", ">>": "/", "&": "%"}.get(text_of(sign)), names.value(right)
    if operator is None or by is None or not signs.is_natural(left):
        return
    if operator == "%":
        if by < 1 or by & (by + 1):
            return
        divisor = _one_more(right, names) or str(by + 1)
    elif not 0 < by <= _FURTHEST:
        return
    else:
        divisor = str(1 << by)
    is_atom = left.type in _ATOMS
    yield Edit(node.start_byte, node.start_byte, "(" if is_atom else "((")
    yield Edit(left.end_byte, node.end_byte, f" {operator} {divisor})" if is_atom else f") {operator} {divisor})")


def _one_more(node: Node, names: Names) -> str | None:
    """The name that a mask `N - 1` is made of."""
    node = unwrapped(node)
    if node.type != "binary_expression" or text_of(field(node, "operator")) != "-" or names.value(field(node, "right")) != 1:
        return None
    left = unwrapped(field(node, "left"))
    return names.source.text_of(left) if left.type == "identifier" else None
