"""Terms: folding keeps the value, ceilings are recognised, and the text says the same in kernel.toml's language."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warpsmith.core.expression import Expression
from warpsmith.spec.host.terms import (
    Apply,
    Root,
    chosen,
    compared,
    exact_quotient,
    extreme,
    factors_of,
    operation,
    product,
    quotient,
    replaced,
    total,
)
from warpsmith.spec.host.wording import written

N, M, B = Root("n", 1), Root("m", 2), Root("b", 3)
NAMES = {N: "n", M: "m", B: "b"}


def text(term):
    return written(term, NAMES)


def test_ceilings_however_they_are_written():
    left_over = compared("!=", operation("%", N, B), 0)
    ways = [
        quotient(total(N, B, -1), B),
        quotient(total(N, total(B, -1)), B),
        total(quotient(total(N, -1), B), 1),
        total(quotient(N, B), chosen(left_over, 1, 0)),
        chosen(compared("==", operation("%", N, B), 0), quotient(N, B), total(quotient(N, B), 1)),
    ]
    assert {text(way) for way in ways} == {"ceildiv(n, b)"}
    assert {text(replaced(way, {B: 256})) for way in ways} == {"ceildiv(n, 256)"}
    assert text(quotient(total(N, 255), 256)) == "ceildiv(n, 256)"
    assert text(quotient(total(N, 254), 256)) == "(n + 254) / 256"
    assert text(quotient(total(N, product(4, B), -1), product(4, B))) == "ceildiv(n, 4 * b)"
    # The rounding shows only once the numbers are there.
    assert text(replaced(quotient(total(N, 255), B), {B: 256})) == "ceildiv(n, 256)"


@pytest.mark.parametrize(
    ("term", "said"),
    [
        (total(N, 1, M, -1), "n + m"),
        (total(N, product(-1, N)), "0"),
        (total(N, product(-2, M), -3), "n - 2 * m - 3"),
        (product(total(N, 2), 4, M), "4 * (n + 2) * m"),
        (product(N, Apply("/", (M, 3))), "n * (m / 3)"),
        (quotient(product(N, M), 3), "n * m / 3"),
        (product(N, 0), "0"),
        (extreme("min", N, 1024), "min(n, 1024)"),
        (extreme("max", 3, 1024), "1024"),
        (chosen(compared("<", N, M), 2, N), "2 if n < m else n"),
        (operation("<<", N, 2), "4 * n"),
        (operation(">>", N, 1), "n / 2"),
        (operation("&", total(N, 31), -32), "(n + 31) & (-32)"),
    ],
)
def test_wording(term, said):
    assert text(term) == said
    Expression.parse(said)


def test_what_has_no_result():
    assert quotient(N, 0) is None
    assert replaced(quotient(N, B), {B: 0}) is None
    assert operation("^", N, M) is None
    assert operation("%", 5, 0) is None
    assert operation("<<", 1, 4000) != 1 << 4000


def test_bytes_and_elements():
    assert exact_quotient(product(4, N, M), 4) == product(N, M)
    assert exact_quotient(product(2, N), 4) is None
    assert exact_quotient(total(product(4, N), 8), 4) == total(N, 2)
    assert exact_quotient(total(product(4, N), 2), 4) is None
    assert exact_quotient(product(8, N, M), product(2, M)) == product(4, N)
    assert factors_of(product(3, N, total(M, 2))) == [N, total(M, 2), 3]
    assert factors_of(1024) == [1024]
    assert factors_of(1) == [1]


@st.composite
def terms(draw, depth=3):
    """A term and what C++ computes for it."""
    values = {N: 37, M: 5, B: 8}
    if depth == 0 or draw(st.booleans()):
        leaf = draw(st.sampled_from([N, M, B, *range(1, 10)]))
        return leaf, values.get(leaf, leaf)
    (left, a), (right, b) = draw(terms(depth=depth - 1)), draw(terms(depth=depth - 1))
    sign = draw(st.sampled_from(["+", "*", "/", "up", "min", "max"]))
    if sign in {"min", "max"}:
        return extreme(sign, left, right), min(a, b) if sign == "min" else max(a, b)
    if sign == "up" and b:
        return quotient(total(left, right, -1), right) if a else left, (a + b - 1) // b if a else a
    if sign == "/" and b:
        return quotient(left, right), a // b
    return (product(left, right), a * b) if sign == "*" else (total(left, right), a + b)


@settings(max_examples=60)
@given(terms())
def test_folding_and_wording_keep_the_value(pair):
    term, value = pair
    if term is not None:
        assert replaced(term, {N: 37, M: 5, B: 8}) == value
        assert Expression.parse(text(term)).evaluate({"n": 37, "m": 5, "b": 8}) == value
