"""Equality is decided exactly or not at all: `equal` is never wrong."""

from __future__ import annotations

import ast
from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warpsmith.core.algebra import Polynomial, Quotient, equal
from warpsmith.core.expression import Expression

_NAMES = ("a", "b", "c")
_texts = st.recursive(
    st.sampled_from(_NAMES) | st.integers(0, 6).map(str),
    lambda inner: (
        st.builds("({} {} {})".format, inner, st.sampled_from("+-*/"), inner)
        | st.builds("{}({}, {})".format, st.sampled_from(["min", "max", "ceildiv"]), inner, inner)
        | st.builds("({} % {})".format, inner, st.integers(1, 8))
    ),
    max_leaves=7,
)
_points = st.fixed_dictionaries({name: st.integers(0, 5).map(lambda power: 2**power) | st.integers(1, 40) for name in _NAMES})
_monomials = st.lists(st.sampled_from(_NAMES), max_size=3).map(lambda atoms: tuple(sorted(atoms)))
_polynomials = st.dictionaries(_monomials, st.integers(-4, 4).filter(bool), max_size=4).map(Polynomial)


def _same(left: str, right: str) -> bool | None:
    return equal(Expression.parse(left), Expression.parse(right))


def _at(polynomial: Polynomial, point: dict[str, int]) -> int:
    return sum(factor * prod(point[atom] for atom in monomial) for monomial, factor in polynomial.terms.items())


@given(_polynomials, _polynomials, _points)
def test_polynomials_compute(left: Polynomial, right: Polynomial, point: dict[str, int]):
    assert _at(left + right, point) == _at(left, point) + _at(right, point)
    assert _at(left - right, point) == _at(left, point) - _at(right, point)
    assert _at(left * right, point) == _at(left, point) * _at(right, point)
    assert (left + right) * left == left * left + left * right


@given(_polynomials, _polynomials.filter(lambda p: len(p.terms) == 1))
def test_what_was_multiplied_divides(polynomial: Polynomial, factor: Polynomial):
    ((atoms, number),) = factor.terms.items()
    assert (polynomial * factor).divided(atoms, number) == polynomial


@settings(max_examples=300)
@given(_texts, _texts, _points)
def test_what_is_equal_is_so_wherever_its_divisions_are_exact(left: str, right: str, point: dict[str, int]):
    answer = _same(left, right)
    first, second = _exact(left, point), _exact(right, point)
    if answer is True and first is not None and second is not None:
        assert first == second
    assert answer is _same(right, left)


@given(_texts)
def test_everything_is_itself(text: str):
    assert Quotient.of(Expression.parse(text)) is None or _same(text, text) is True


@given(_texts, _texts, _texts)
def test_sums_and_products_in_any_order_are_one(one: str, two: str, three: str):
    left, right = f"{one} * ({two} + {three})", f"({three}) * ({one}) + {two} * {one}"
    assert _same(left, right) is not False


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("ceildiv(d, 4)", "d / 4", True),
        ("4 * (d / 4)", "d", True),
        ("a * (b + 1) / a", "1 + b", True),
        ("min(1024, d / 4)", "min(ceildiv(d, 4), 1024)", True),
        ("min(a, min(b, a))", "min(b, a)", True),
        ("min(d / 4, 1024)", "d / 4", False),  # one above 4096
        ("min(d, 1048576)", "d", None),  # of no number that is tried another
        ("max(a, 1)", "a", None),  # 0 is the only one
        ("a % 4", "a", False),
        ("a / b", "a", False),
        ("a / b", "b / a", None),  # whole only where both are 1
        ("a / (b - b)", "a", None),
        ("a if b > 1 else c", "a if b > 1 else c", True),
        ("a if b > 1 else c", "a if b >= 1 else c", None),
    ],
)
def test_examples(left: str, right: str, expected: bool | None):
    assert _same(left, right) is expected


def _exact(text: str, point: dict[str, int]) -> int | None:
    """By Python's own arithmetic; None where something does not divide."""
    value = _value(ast.parse(text, mode="eval").body, point)
    return int(value) if value is not None else None


def _value(node: ast.expr, point: dict[str, int]) -> int | None:
    match node:
        case ast.Constant(value=int() as value):
            return value
        case ast.Name(id=name):
            return point[name]
        case ast.BinOp(left=left, op=op, right=right) | ast.Call(func=op, args=[left, right]):
            first, second = _value(left, point), _value(right, point)
            return None if first is None or second is None else _applied(op, first, second)
    raise AssertionError(ast.dump(node))


def _applied(op: ast.operator | ast.expr, left: int, right: int) -> int | None:
    match op:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult():
            return left * right
        case ast.Mod():
            return left % right
        case ast.Name(id="min" | "max" as name):
            return min(left, right) if name == "min" else max(left, right)
        case _:
            return None if right == 0 or left % right else left // right
