"""Partial evaluation of kernel.toml expressions: substitutes names, folds constants, simplifies, and writes the text back.

Passes read launch expressions, so these should look as a person would have written them for the untouched kernel: `tokens`, not
`ceildiv(tokens, 1)`.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import reduce

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
    names_in,
)
from warpsmith.core.expression.operations import truth

_NOWHERE = (0, 0)
# How tightly each kind binds; an operand that binds less tightly needs brackets.
_CONDITIONAL, _OR, _AND, _NOT, _COMPARE, _UNARY, _ATOM = 0, 1, 2, 3, 4, 11, 13
_BINARY = {"|": 5, "^": 6, "&": 7, "<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "//": 10, "%": 10, "**": 12}


def folded(expression: Expression, values: Mapping[str, Value]) -> str:
    """The expression's text with the names in `values` replaced."""
    return written(_fold(expression, expression.tree, values))


def _fold(whole: Expression, node: Node, values: Mapping[str, Value]) -> Node:  # noqa: PLR0911, C901 - a case for each kind of node
    def inner(part: Node) -> Node:
        return _fold(whole, part, values)

    if not isinstance(node, Literal) and names_in(node) <= values.keys():
        with suppress(InputError):  # where it has no value, whoever evaluates it says so
            return Literal(whole.part(node).evaluate(values), _NOWHERE)
    match node:
        case Unary(operator=sign, operand=operand):
            return Unary(sign, inner(operand), _NOWHERE)
        case Binary(operator=sign, left=left, right=right):
            return _simpler(sign, inner(left), inner(right))
        case Compare(first=first, links=links):
            return Compare(inner(first), tuple((sign, inner(right)) for sign, right in links), _NOWHERE)
        case Membership(item=item, choices=choices, negated=negated):
            return Membership(inner(item), tuple(map(inner, choices)), negated, _NOWHERE)
        case Logic(operator=word, operands=operands):
            return _logic(word, [inner(operand) for operand in operands])
        case Conditional(condition=condition, if_true=if_true, if_false=if_false):
            test = inner(condition)
            if isinstance(test, Literal):
                return inner(if_true if truth(test.value) else if_false)
            return Conditional(test, inner(if_true), inner(if_false), _NOWHERE)
        case Call(function="ceildiv", arguments=(left, right)) if _is(inner(right), 1):
            return inner(left)
        case Call(function=name, arguments=arguments):
            return Call(name, tuple(map(inner, arguments)), _NOWHERE)
        case Name(name=name):
            return Literal(values[name], _NOWHERE) if name in values else node
        case Literal():
            return node


def _logic(word: str, operands: list[Node]) -> Node:
    """Without what decides nothing: `false or n > 4` is `n > 4`."""
    if word not in {"and", "or"}:
        return Logic(word, tuple(operands), _NOWHERE)
    decides = word == "or"
    known = [operand for operand in operands if isinstance(operand, Literal)]
    if any(truth(operand.value) is decides for operand in known):
        return Literal(decides, _NOWHERE)
    left = [operand for operand in operands if operand not in known]
    if len(left) == 1 and isinstance(left[0], Compare | Membership | Logic):  # a number would stay one
        return left[0]
    return Logic(word, tuple(left if len(left) > 1 else operands), _NOWHERE)


def _simpler(sign: str, left: Node, right: Node) -> Node:
    if sign in {"*", "/", "//"} and _is(right, 1):
        return left
    if sign == "*" and _is(left, 1):
        return right
    if sign in {"+", "-"}:
        return _sum(Binary(sign, left, right, _NOWHERE))
    return Binary(sign, left, right, _NOWHERE)


def _sum(node: Node) -> Node:
    """Terms that cancel are gone, constants are one: `1 + tokens - tokens` is 1."""
    terms: list[tuple[int, Node]] = []
    constant = 0
    for sign, term in _terms(node, 1):
        if isinstance(term, Literal) and isinstance(term.value, int):
            constant += sign * term.value
        elif (opposite := next((t for t in terms if t[0] == -sign and written(t[1]) == written(term)), None)) is not None:
            terms.remove(opposite)
        else:
            terms.append((sign, term))
    if constant or not terms:
        terms.append((1 if constant >= 0 else -1, Literal(abs(constant), _NOWHERE)))
    lead = next((term for term in terms if term[0] > 0), terms[0])  # no sum begins with a minus without need
    terms.remove(lead)
    (sign, first), rest = lead, terms
    start = first if sign > 0 else Unary("-", first, _NOWHERE)
    return reduce(lambda sofar, term: Binary("+" if term[0] > 0 else "-", sofar, term[1], _NOWHERE), rest, start)


def _terms(node: Node, sign: int) -> list[tuple[int, Node]]:
    match node:
        case Binary(operator="+" | "-" as operator, left=left, right=right):
            return [*_terms(left, sign), *_terms(right, sign if operator == "+" else -sign)]
        case _:
            return [(sign, node)]


def _is(node: Node, value: int) -> bool:
    return isinstance(node, Literal) and node.value == value


# ── writing ──


def written(node: Node) -> str:
    return _write(node)[0]


def _write(node: Node) -> tuple[str, int]:  # noqa: PLR0911, C901 - a case for each kind of node
    match node:
        case Literal(value=value):
            return _literal(value)
        case Name(name=name):
            return name, _ATOM
        case Unary(operator="not", operand=operand):
            return f"not {_inside(operand, _NOT)}", _NOT
        case Unary(operator=sign, operand=operand):
            return f"{sign}{_inside(operand, _UNARY)}", _UNARY
        case Binary(operator=sign, left=left, right=right):
            level = _BINARY[sign]
            # Only ** groups to the right; of the others the right operand needs brackets at its own level.
            looser = (level + 1, level) if sign == "**" else (level, level + 1)
            return f"{_inside(left, looser[0])} {sign} {_inside(right, looser[1])}", level
        case Compare(first=first, links=links):
            rest = "".join(f" {sign} {_inside(right, _COMPARE + 1)}" for sign, right in links)
            return f"{_inside(first, _COMPARE + 1)}{rest}", _COMPARE
        case Membership(item=item, choices=choices, negated=negated):
            listed = ", ".join(map(written, choices)) + ("," if len(choices) == 1 else "")
            return f"{_inside(item, _COMPARE + 1)} {'not in' if negated else 'in'} ({listed})", _COMPARE
        case Logic(operator=word, operands=operands):
            level = _AND if word == "and" else _OR
            return f" {word} ".join(_inside(operand, level + 1) for operand in operands), level
        case Conditional(condition=condition, if_true=if_true, if_false=if_false):
            yes, test = _inside(if_true, _OR), _inside(condition, _OR)
            return f"{yes} if {test} else {_inside(if_false, _CONDITIONAL)}", _CONDITIONAL
        case Call(function=name, arguments=arguments):
            return f"{name}({', '.join(map(written, arguments))})", _ATOM


def _literal(value: Value) -> tuple[str, int]:
    if isinstance(value, bool | str):
        return (f'"{value}"' if isinstance(value, str) else str(value).lower()), _ATOM
    return str(value), _ATOM if value >= 0 else _UNARY


def _inside(node: Node, level: int) -> str:
    text, own = _write(node)
    return f"({text})" if own < level else text
