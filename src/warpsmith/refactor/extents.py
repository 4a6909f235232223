"""Extents as passes handle them: texts of kernel.toml's language, brought to one spelling, compared, and put into one another."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from fractions import Fraction

from warpsmith.core.errors import InputError
from warpsmith.core.expression import Expression
from warpsmith.core.expression.nodes import Binary, Call, Literal, Name, Node, Unary
from warpsmith.refactor.constants import with_words
from warpsmith.refactor.folding import folded, written

# As good as unknown: two rational functions of few names that agree at these are the same one.
_POINTS = ((101, 103, 107, 109, 113, 127, 131, 137), (211, 151, 223, 157, 227, 163, 229, 167))


def tidy(text: str) -> str:
    """With constants computed and no brackets without need."""
    return folded(Expression.parse(text), {})


def names_of(text: str) -> frozenset[str]:
    return Expression.parse(text).names


def substituted(text: str, values: Mapping[str, str]) -> str:
    """The text with names replaced by other expressions."""
    return tidy(with_words(text, {name: f"({value})" for name, value in values.items()}))


def value_at(text: str, values: Mapping[str, int]) -> int | None:
    """Its value, or None where it has none: another name, a division by zero."""
    try:
        found = Expression.parse(text).evaluate(values)
    except InputError:
        return None
    return found if isinstance(found, int) else None


def same(left: str, right: str) -> bool:
    """Whether two extents are one wherever their divisions are exact."""
    names = sorted(names_of(left) | names_of(right))
    if len(names) > len(_POINTS[0]):
        return tidy(left) == tidy(right)
    try:
        return all(
            _rational(Expression.parse(left).tree, point) == _rational(Expression.parse(right).tree, point)
            for numbers in _POINTS
            for point in [dict(zip(names, map(Fraction, numbers), strict=False))]
        )
    except (ZeroDivisionError, ValueError):
        return tidy(left) == tidy(right)


def with_part(expression: Expression, part: Node, replacement: str) -> str:
    """The text with one node's place taken by another expression."""
    start, end = part.span
    return tidy(f"{expression.text[:start]}({replacement}){expression.text[end:]}")


def known_extent(text: str, parameters: Collection[str], otherwise: str) -> str | None:
    """What a block's extent is in C, where a compiler sees a number in it: a parameter, or `min(ceildiv(n, 32) * 32, BLOCK)`.

    That one is BLOCK wherever it is 32 at most, whatever n: a block has a thread. Else it is what `otherwise` says.
    """
    match Expression.parse(text).tree:
        case Name(name=name) if name in parameters:
            return name
        case Call(function="min", arguments=(Binary(operator="*") as whole, Name(name=name))) if name in parameters:
            match whole:
                case Binary(left=Call(function="ceildiv", arguments=(_, Literal(value=unit))), right=Literal(value=same_unit)):
                    return f"{name} <= {unit} ? {name} : {otherwise}" if unit == same_unit else None
    return None


def spelled(node: Node) -> str:
    return written(node)


def _rational(node: Node, values: Mapping[str, Fraction]) -> Fraction:  # noqa: C901, PLR0911 - one return for each kind of node
    match node:
        case Literal(value=int() as value):
            return Fraction(value)
        case Name(name=name):
            return values[name]
        case Unary(operator="-", operand=operand):
            return -_rational(operand, values)
        case Binary(operator="+", left=left, right=right):
            return _rational(left, values) + _rational(right, values)
        case Binary(operator="-", left=left, right=right):
            return _rational(left, values) - _rational(right, values)
        case Binary(operator="*", left=left, right=right):
            return _rational(left, values) * _rational(right, values)
        case Binary(operator="/" | "//", left=left, right=right):
            return _rational(left, values) / _rational(right, values)
        case Call(function="ceildiv", arguments=(left, right)):
            return _rational(left, values) / _rational(right, values)
        case Call(function="min", arguments=arguments):
            return min(_rational(a, values) for a in arguments)
        case Call(function="max", arguments=arguments):
            return max(_rational(a, values) for a in arguments)
        case _:
            raise ValueError(f"no number: {node}")
