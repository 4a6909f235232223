"""The state of a partially evaluated expression: the values that its remaining part depends on.

Once some parameters of an expression have their values, the rest of it sees them only through the largest parts that are fully
assigned: `A * B * C <= 1024` sees A and B as one product. Two partial assignments that agree in these parts are equal for all
that follows. Sums, products, minima and maxima of integers are regrouped: the order in which they were written does not count.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import TypeAlias

from warpsmith.core.configuration import Value
from warpsmith.core.expression.nodes import (
    Binary,
    Call,
    Compare,
    Conditional,
    Literal,
    Logic,
    Membership,
    Name,
    Node,
    Unary,
    names_in,
)
from warpsmith.core.expression.nodes import children as children_of
from warpsmith.core.expression.operations import MAX_BITS

Bits: TypeAlias = Mapping[str, int | None]

_ADDING = frozenset("+-")


def bits_of(values: tuple[Value, ...]) -> int | None:
    """How many bits the largest of the values has; None if they are not all integers."""
    if not all(isinstance(value, int) for value in values):
        return None
    return max((int(value).bit_length() for value in values), default=0)


def carried(node: Node, open_names: frozenset[str], bits: Bits) -> list[Node]:
    """The parts of the expression to remember while `open_names` have no value yet; parts without any parameter are left in."""
    if not names_in(node) & open_names:
        return [] if isinstance(node, Literal) else [node]
    operands = _regroupable(node, bits)
    if operands is None:
        return list(chain.from_iterable(carried(child, open_names, bits) for child in children_of(node)))
    closed = [(sign, operand) for sign, operand in operands if not names_in(operand) & open_names]
    rest = [operand for _, operand in operands if names_in(operand) & open_names]
    found = list(chain.from_iterable(carried(operand, open_names, bits) for operand in rest))
    return found if not closed else [_joined(node, closed), *found]


def _regroupable(node: Node, bits: Bits) -> list[tuple[str, Node]] | None:
    """The signed terms of a sum, the factors of a product, the arguments of min or max, where their order cannot matter."""
    match node:
        case Binary(operator="+" | "-"):
            operands = _terms(node, "+")
        case Binary(operator="*"):
            operands = _factors(node)
        case Call(function="min" | "max", arguments=arguments):
            operands = [("+", argument) for argument in arguments]
        case _:
            return None
    # Floats round differently in another order, and what has too many bits is an error in one order only.
    size = _bits(node, bits)
    return operands if size is not None and size < MAX_BITS else None


def _terms(node: Node, sign: str) -> list[tuple[str, Node]]:
    if isinstance(node, Binary) and node.operator in _ADDING:
        flipped = sign if node.operator == "+" else ("-" if sign == "+" else "+")
        return [*_terms(node.left, sign), *_terms(node.right, flipped)]
    return [(sign, node)]


def _factors(node: Node) -> list[tuple[str, Node]]:
    if isinstance(node, Binary) and node.operator == "*":
        return [*_factors(node.left), *_factors(node.right)]
    return [("+", node)]


def _joined(node: Node, operands: list[tuple[str, Node]]) -> Node:
    """The part of a sum, product, minimum or maximum that these operands make up."""
    if isinstance(node, Call):
        return Call(node.function, tuple(operand for _, operand in operands), node.span)
    product = isinstance(node, Binary) and node.operator == "*"
    sign, result = operands[0]
    if sign == "-":
        result = Unary("-", result, result.span)
    for sign, operand in operands[1:]:
        result = Binary("*" if product else sign, result, operand, node.span)
    return result


def _bits(node: Node, bits: Bits) -> int | None:  # noqa: PLR0911 - one case for each kind of node
    """An upper bound for the bits of an integer expression's value; None when it may be something else, or unbounded."""
    match node:
        case Compare() | Logic() | Membership() | Unary(operator="not"):
            return 1
        case Literal(value=value):
            return bits_of((value,))
        case Name(name=name):
            return bits.get(name)
    parts = [_bits(child, bits) for child in (children_of(node)[1:] if isinstance(node, Conditional) else children_of(node))]
    sizes = [size for size in parts if size is not None]
    if len(sizes) < len(parts):
        return None
    match node:
        case Binary(operator="*") | Call(function="lcm"):
            return sum(sizes)
        case Binary(operator="**" | "<<"):
            return None
        case _:
            return max(sizes) + 1
