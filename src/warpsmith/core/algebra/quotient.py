"""Expressions of kernel.toml as quotients of polynomials, where every division in them is exact: `ceildiv(d, 4)` is `d / 4`.

What is no sum, product or quotient is an atom in canonical text: `min(d / 4, 1024)` is not `d / 4`, whatever numbers are tried.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from math import gcd
from operator import and_

from warpsmith.core.algebra.polynomial import Polynomial
from warpsmith.core.configuration import Value
from warpsmith.core.expression import Expression
from warpsmith.core.expression.nodes import Binary, Call, Compare, Literal, Logic, Membership, Name, Node, Unary, children
from warpsmith.core.expression.operations import BINARY, FUNCTIONS, UNARY, OperationError

_MOST_TERMS = 256  # of a product of sums; beyond, nothing is known
_POINTS = 200
_DIVISIONS = frozenset({"/", "//"})


class _TooLargeError(Exception):
    pass


@dataclass(frozen=True, slots=True)
class Quotient:
    over: Polynomial
    under: Polynomial

    @classmethod
    def of(cls, expression: Expression) -> Quotient | None:
        """None where a product has more terms than are worth it, or something is divided by zero."""
        try:
            return _of(expression.tree)
        except (_TooLargeError, ZeroDivisionError):
            return None

    def __add__(self, other: Quotient) -> Quotient:
        if self.under == other.under:
            return _reduced(self.over + other.over, self.under)
        return _reduced(_product(self.over, other.under) + _product(other.over, self.under), _product(self.under, other.under))

    def __neg__(self) -> Quotient:
        return Quotient(Polynomial.constant(0) - self.over, self.under)

    def __mul__(self, other: Quotient) -> Quotient:
        return _reduced(_product(self.over, other.over), _product(self.under, other.under))

    def __truediv__(self, other: Quotient) -> Quotient:
        return _reduced(_product(self.over, other.under), _product(self.under, other.over))

    def __str__(self) -> str:
        return f"({self.over})/({self.under})"


def equal(left: Expression, right: Expression) -> bool | None:
    """Whether both have the same value wherever their divisions are exact; None where that is not known."""
    first, second = Quotient.of(left), Quotient.of(right)
    if first is not None and second is not None:
        try:
            if _product(first.over, second.under) == _product(second.over, first.under):
                return True
        except _TooLargeError:
            return None
    return False if any(_differ(left.tree, right.tree, point) for point in _points(left.names | right.names)) else None


def _of(node: Node) -> Quotient:  # noqa: PLR0911 - one return for each kind of node
    match node:
        case Literal(value=int() as value) if not isinstance(value, bool):
            return _whole(Polynomial.constant(value))
        case Name(name=name):
            return _whole(Polynomial.atom(name))
        case Unary(operator="-", operand=operand):
            return -_of(operand)
        case Binary(operator="+" | "-" as sign, left=left, right=right):
            return _of(left) + (_of(right) if sign == "+" else -_of(right))
        case Binary(operator="*", left=left, right=right):
            return _of(left) * _of(right)
        case Binary(operator="/" | "//", left=left, right=right) | Call(function="ceildiv", arguments=(left, right)):
            return _of(left) / _of(right)
        case Call(function="min" | "max" as function):
            return _extreme(function, node)
        case _:
            return _whole(Polynomial.atom(_opaque(node)))


def _extreme(function: str, node: Node) -> Quotient:
    """Of arguments in any order, each once; of one of them it is that."""
    found = {str(part): part for part in _arguments(function, node)}
    if len(found) == 1:
        return next(iter(found.values()))
    return _whole(Polynomial.atom(f"{function}({', '.join(sorted(found))})"))


def _arguments(function: str, node: Node) -> Iterator[Quotient]:
    if isinstance(node, Call) and node.function == function:
        for argument in node.arguments:
            yield from _arguments(function, argument)
    else:
        yield _of(node)


def _opaque(node: Node) -> str:
    """One text for what is made of equal parts in the same way."""
    match node:
        case Literal(value=value):
            return f"{type(value).__name__} {value!r}"
        case Unary(operator=word) | Binary(operator=word) | Call(function=word) | Logic(operator=word):
            shape = word
        case Compare(links=links):
            shape = " ".join(sign for sign, _ in links)
        case Membership(negated=negated):
            shape = "not in" if negated else "in"
        case _:
            shape = "if"
    return f"{shape}({', '.join(str(_of(child)) for child in children(node))})"


def _whole(over: Polynomial) -> Quotient:
    return Quotient(over, Polynomial.constant(1))


def _product(left: Polynomial, right: Polynomial) -> Polynomial:
    if len(left.terms) * len(right.terms) > _MOST_TERMS:
        raise _TooLargeError
    return left * right


def _reduced(over: Polynomial, under: Polynomial) -> Quotient:
    """Without the numbers and atoms that all terms share, the first term below the line positive."""
    if not under.terms:
        raise ZeroDivisionError
    if not over.terms:
        return _whole(over)
    factor = gcd(*over.terms.values(), *under.terms.values())
    factor *= -1 if under.terms[min(under.terms)] < 0 else 1
    shared = reduce(and_, (Counter(monomial) for terms in (over.terms, under.terms) for monomial in terms))
    above, below = (part.divided(tuple(shared.elements()), factor) for part in (over, under))
    assert above is not None, "it divides every term"
    assert below is not None, "it divides every term"
    return Quotient(above, below)


# ── a point where they differ ──


def _points(names: frozenset[str]) -> Iterator[Mapping[str, int]]:
    """Natural numbers with many divisors, since only exact divisions count; of all magnitudes, since `min` tells these apart."""
    rng = random.Random(0)  # noqa: S311 - numbers to try
    for _ in range(_POINTS):
        yield {name: 2 ** rng.randrange(14) * rng.choice((1, 1, 3, 5, 15)) for name in sorted(names)}


def _differ(left: Node, right: Node, point: Mapping[str, int]) -> bool:
    first, second = _exact(left, point), _exact(right, point)
    return first is not None and second is not None and first != second


def _exact(node: Node, point: Mapping[str, int]) -> int | None:  # noqa: PLR0911 - one return for each kind of node
    """Its value; None where a division leaves a remainder or there is no whole number."""
    if isinstance(node, Name):
        return point[node.name]
    if isinstance(node, Literal):
        return node.value if isinstance(node.value, int) else None
    parts = [_exact(child, point) for child in children(node)]
    values = [part for part in parts if part is not None]
    if len(values) < len(parts):
        return None
    operation: Callable[..., Value]
    match node:
        case Unary(operator=sign) if sign in UNARY:
            operation = UNARY[sign]
        case Binary(operator=sign):
            operation = BINARY[sign]
        case Call(function=function):
            operation = FUNCTIONS[function][2]
        case _:
            return None
    is_division = isinstance(node, Binary) and node.operator in _DIVISIONS
    if (is_division or (isinstance(node, Call) and node.function == "ceildiv")) and (values[1] == 0 or values[0] % values[1]):
        return None
    try:
        found = operation(*values)
    except (OperationError, OverflowError):
        return None
    return found if isinstance(found, int) else None
