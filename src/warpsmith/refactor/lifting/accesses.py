"""The width of an access in the launch: `min(d / 4, 1024)` has the source's `d / kLanes` in it, and follows it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from warpsmith.core.expression import Expression
from warpsmith.core.expression.nodes import Binary, Call, Literal, Node, children
from warpsmith.refactor.extents import names_of, same, spelled, substituted, tidy, value_at, with_part
from warpsmith.source.names import Names
from warpsmith.source.tree import field, of_kind, text_of

if TYPE_CHECKING:
    from tree_sitter import Node as Syntax


@dataclass(frozen=True, slots=True)
class Division:
    """A division in the source of something known at launch by something that depends on parameters."""

    over: str
    under: str
    line: int | None  # unknown inside a macro

    @property
    def place(self) -> str:
        return f" (line {self.line})" if self.line is not None else ""

    @property
    def text(self) -> str:
        return tidy(f"({self.over}) / ({self.under})")


def divisions_of(names: Names) -> list[Division]:
    """Of the kernel, of what it reaches, and of the constants and macros that those use; each once."""
    found: dict[tuple[str, str], Division] = {}
    source = names.source
    nodes: list[Syntax] = [
        *source.reached(),
        *(n for n in of_kind(source.tree.root, "declaration") if n.parent == source.tree.root),
    ]
    macros = list(names.source.scopes.macros.values())
    for node, in_macro in (
        (d, number >= len(nodes)) for number, within in enumerate([*nodes, *macros]) for d in of_kind(within, "binary_expression")
    ):
        if text_of(field(node, "operator")) != "/":
            continue
        over, under = names.expression(field(node, "left")), names.expression(field(node, "right"))
        if over is not None and under is not None and (names_of(over) | names_of(under)) & names.parameters:
            line = None if in_macro else source.line_of(node)
            found.setdefault((tidy(over), tidy(under)), Division(tidy(over), tidy(under), line))
    return list(found.values())


def follow(text: str, divisions: list[Division], defaults: Mapping[str, int]) -> str:
    """The launch expression with the divisors that are the source's replaced by what those are."""
    while True:
        expression = Expression.parse(text)
        changed = next(_followed(expression, divisions, defaults), None)
        if changed is None:
            return text
        text = changed


def _followed(expression: Expression, divisions: list[Division], defaults: Mapping[str, int]) -> Iterator[str]:
    at_default = {name: str(value) for name, value in defaults.items()}
    for node in _literal_divisions(expression.tree):
        match node:
            case (
                Binary(left=left, right=Literal(value=int() as value) as right)
                | Call(arguments=(left, Literal(value=int() as value) as right))
            ):
                rounded = _rounded_up(left, value)
                for division in divisions:
                    over = substituted(division.over, at_default)
                    if value_at(division.under, defaults) == value and rounded is not None and same(spelled(rounded), over):
                        yield with_part(expression, node, f"ceildiv({spelled(rounded)}, {division.under})")
                    if value_at(division.under, defaults) == value and any(same(spelled(f), over) for f in _factors(left)):
                        yield with_part(expression, right, division.under)
            case _:
                pass


def leftover(text: str, widths: Sequence[int]) -> str | None:
    """A number in the launch that may be one less than a width that has become a parameter: places for what is left over."""
    found = {v.value for v in _literals(Expression.parse(text).tree)}
    less = next((value - 1 for value in widths if value > 2 and value - 1 in found), None)
    return None if less is None else f"the launch says {less}, which may be the width of an access less one"


def _literals(node: Node) -> Iterator[Literal]:
    if isinstance(node, Literal):
        yield node
    for child in children(node):
        yield from _literals(child)


def _rounded_up(node: Node, by: int) -> Node | None:
    """The n of `(n + 3)`, which is about to be divided by 4."""
    match node:
        case Binary(operator="+", left=what, right=Literal(value=int() as more)) if more == by - 1:
            return what
        case _:
            return None


def _literal_divisions(node: Node) -> Iterator[Node]:
    match node:
        case (
            Binary(operator="/" | "//", right=Literal(value=int()))
            | Call(function="ceildiv", arguments=(_, Literal(value=int())))
        ):
            yield node
        case _:
            pass
    for child in children(node):
        yield from _literal_divisions(child)


def _factors(node: Node) -> Iterator[Node]:
    """The node itself and, of a product, its factors: n * d / 4 is n * (d / 4) where 4 divides d."""
    yield node
    if isinstance(node, Binary) and node.operator == "*":
        yield from _factors(node.left)
        yield from _factors(node.right)
