"""Expressions of kernel.toml in another language, with the same meaning. Fully parenthesised: the text is not for editing."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from warpsmith.core.configuration import Value
from warpsmith.core.errors import InputError
from warpsmith.core.expression import Expression
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
    children,
)


class Dialect(Protocol):
    """How the parts are spelled; operands come spelled already. `whole` says that both operands are integers."""

    def literal(self, value: Value) -> str: ...

    def name(self, name: str) -> str: ...

    def unary(self, sign: str, operand: str) -> str: ...

    def binary(self, sign: str, left: str, right: str, *, whole: bool) -> str: ...

    def logic(self, word: str, operands: list[str]) -> str: ...

    def conditional(self, condition: str, if_true: str, if_false: str) -> str: ...

    def call(self, function: str, arguments: list[str]) -> str | None:
        """None for what the language has no word for."""
        ...


def spelled(expression: Expression, dialect: Dialect, fractions: Collection[str] = ()) -> str:
    """`fractions` are the names whose values may be no integers: `/` is another division there.

    Raises InputError where the language has no word for a function.
    """
    return _write(expression.tree, dialect, fractions)


def _write(node: Node, dialect: Dialect, fractions: Collection[str]) -> str:  # noqa: C901, PLR0911 - a case for each kind of node
    def inner(part: Node) -> str:
        return _write(part, dialect, fractions)

    match node:
        case Literal(value=value):
            return dialect.literal(value)
        case Name(name=name):
            return dialect.name(name)
        case Unary(operator=sign, operand=operand):
            return dialect.unary(sign, inner(operand))
        case Binary(operator=sign, left=left, right=right):
            return dialect.binary(sign, inner(left), inner(right), whole=_is_whole(node, fractions))
        case Compare(first=first, links=links):
            pairs = zip((first, *(right for _, right in links)), links, strict=False)
            return _joined(dialect, "and", [f"({inner(left)} {sign} {inner(right)})" for left, (sign, right) in pairs])
        case Membership(item=item, choices=choices, negated=negated):
            found = _joined(dialect, "or", [f"({inner(item)} == {inner(choice)})" for choice in choices])
            return dialect.unary("not", found) if negated else found
        case Logic(operator=word, operands=operands):
            return dialect.logic(word, [inner(operand) for operand in operands])
        case Conditional(condition=condition, if_true=if_true, if_false=if_false):
            return dialect.conditional(inner(condition), inner(if_true), inner(if_false))
        case Call(function=name, arguments=arguments):
            call = dialect.call(name, [inner(argument) for argument in arguments])
            if call is None:
                raise InputError(f"{name}() cannot be written in this format")
            return call


def _joined(dialect: Dialect, word: str, parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else dialect.logic(word, parts)


def _is_whole(node: Node, fractions: Collection[str]) -> bool:
    match node:
        case Literal(value=value):
            return not isinstance(value, float)
        case Name(name=name):
            return name not in fractions
        case Call(function="int"):
            return True
        case _:
            return all(_is_whole(child, fractions) for child in children(node))
