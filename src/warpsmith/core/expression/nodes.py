"""The syntax tree of an expression: frozen nodes of our own, so that nothing outside the whitelist can exist in one.

`span` is the node's place in the expression's text (start, end), for messages.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from warpsmith.core.configuration import Value

Span: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Literal:
    value: Value
    span: Span


@dataclass(frozen=True, slots=True)
class Name:
    name: str
    span: Span


@dataclass(frozen=True, slots=True)
class Unary:
    """`-` `~` `not`"""

    operator: str
    operand: Node
    span: Span


@dataclass(frozen=True, slots=True)
class Binary:
    operator: str
    left: Node
    right: Node
    span: Span


@dataclass(frozen=True, slots=True)
class Compare:
    """`a < b <= c`: every link must hold; as in Python, later operands are not evaluated once a link has failed."""

    first: Node
    links: tuple[tuple[str, Node], ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Membership:
    """`a in (1, 2, 4)`, or its negation."""

    item: Node
    choices: tuple[Node, ...]
    negated: bool
    span: Span


@dataclass(frozen=True, slots=True)
class Logic:
    """`and`, `or`: evaluated left to right, only as far as needed; the result is a truth value."""

    operator: str
    operands: tuple[Node, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Conditional:
    condition: Node
    if_true: Node
    if_false: Node
    span: Span


@dataclass(frozen=True, slots=True)
class Call:
    function: str
    arguments: tuple[Node, ...]
    span: Span


Node: TypeAlias = Literal | Name | Unary | Binary | Compare | Membership | Logic | Conditional | Call


def children(node: Node) -> tuple[Node, ...]:  # noqa: PLR0911 - one return for each kind of node
    match node:
        case Literal() | Name():
            return ()
        case Unary(operand=operand):
            return (operand,)
        case Binary(left=left, right=right):
            return (left, right)
        case Compare(first=first, links=links):
            return (first, *(right for _, right in links))
        case Membership(item=item, choices=choices):
            return (item, *choices)
        case Logic(operands=operands):
            return operands
        case Conditional(condition=condition, if_true=if_true, if_false=if_false):
            return (condition, if_true, if_false)
        case Call(arguments=arguments):
            return arguments


def names_in(node: Node) -> frozenset[str]:
    if isinstance(node, Name):
        return frozenset((node.name,))
    return frozenset().union(*(names_in(child) for child in children(node)))
