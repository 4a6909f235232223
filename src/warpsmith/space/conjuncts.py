"""Splits a condition into conjuncts: smaller conditions are decided earlier."""

from __future__ import annotations

from warpsmith.core.expression.nodes import Compare, Logic, Membership, Node, Unary


def conjuncts(node: Node) -> list[Node]:
    """What must hold for the node to hold. Where one of them has no result the whole has none, or is false: forbidden both."""
    match node:
        case Logic(operator="and", operands=operands):
            return [found for operand in operands for found in conjuncts(_as_truth(operand))]
        case Compare(first=left, links=links) if len(links) > 1:
            parts: list[Node] = []
            for sign, right in links:
                parts.append(Compare(left, ((sign, right),), node.span))
                left = right
            return parts
        case _:
            return [node]


def _as_truth(node: Node) -> Node:
    """Text has no truth as an operand of `and`, unlike alone: `not` keeps it so."""
    if isinstance(node, Compare | Membership | Logic) or (isinstance(node, Unary) and node.operator == "not"):
        return node
    return Unary("not", Unary("not", node, node.span), node.span)
