"""Guards: `if (i >= n) return;` before the work, or `if (i < n) { … }` around it."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field as data
from typing import TYPE_CHECKING

from warpsmith.source.comparisons import MIRRORED
from warpsmith.source.names import Names
from warpsmith.source.polynomial import Polynomial
from warpsmith.source.tree import field, text_of, unwrapped

if TYPE_CHECKING:
    from tree_sitter import Node


@dataclass(frozen=True, slots=True)
class Guard:
    """Work is done where `left < limit`. `body` is what the guard stands around, None for one that returns."""

    left: Polynomial
    limit: Node = data(repr=False)
    body: Node | None = data(repr=False)
    node: Node = data(repr=False)


def guard_of(node: Node, names: Names) -> tuple[Guard, ...]:
    """The readings of an `if` statement as a guard: a comparison can be read from either side. None for anything else."""
    if node.type != "if_statement" or node.child_by_field_name("alternative") is not None:
        return ()
    inner = field(node, "condition")
    condition = unwrapped(field(inner, "value")) if inner.type == "condition_clause" else unwrapped(inner)
    if condition.type != "binary_expression":
        return ()
    operator, consequence = text_of(field(condition, "operator")), field(node, "consequence")
    left, right = field(condition, "left"), field(condition, "right")
    leaves = is_return(consequence)
    found = []
    for one, other, sign in ((left, right, operator), (right, left, MIRRORED.get(operator, ""))):
        if sign == (">=" if leaves else "<"):
            found.append(Guard(Polynomial.of(one, names), other, None if leaves else consequence, node))
    return tuple(found)


def is_return(node: Node) -> bool:
    """`return;`, also inside braces."""
    if node.type == "compound_statement":
        inside = [c for c in node.named_children if c.type != "comment"]
        return len(inside) == 1 and is_return(inside[0])
    return node.type == "return_statement" and not node.named_children
