"""Extents as passes handle them: texts of kernel.toml's language, brought to one spelling, compared, and put into one another."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from warpsmith.core.algebra import equal
from warpsmith.core.errors import InputError
from warpsmith.core.expression import Expression
from warpsmith.core.expression.folding import folded, written
from warpsmith.core.expression.nodes import Binary, Call, Literal, Name, Node
from warpsmith.refactor.constants import with_words


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
    """Whether two extents are surely one wherever their divisions are exact."""
    return equal(Expression.parse(left), Expression.parse(right)) is True


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
