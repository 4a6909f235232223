"""The expression language: what it means, what it refuses, and that columns give what single rows give."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warpsmith.core.errors import InputError, Location
from warpsmith.core.expression import Expression


@pytest.mark.parametrize(
    ("text", "names", "value"),
    [
        ("min(d / 4, 1024)", {"d": 11008}, 1024),
        ("7 / 2", {}, 3),
        ("-7 / 2", {}, -4),
        ("7 / 2.0", {}, 3.5),
        ("7 // 2.0", {}, 3.0),
        ("-7 % 4", {}, 1),
        ("2 ** 10 + 0x10 + 0b11 + 1_000", {}, 2043),
        ("1 << 4 | 3 & 2 ^ 8", {}, 16 | 3 & 2 ^ 8),
        ("~5 >> 1", {}, -3),
        ("-2 ** 2", {}, -4),
        ("1 < x <= 4", {"x": 4}, True),
        ("1 < x <= 4 < x", {"x": 4}, False),
        ("x in (1, 2, 4) and x not in [8]", {"x": 2}, True),
        ("layout == 'row' or layout in ('col', \"x\")", {"layout": "col"}, True),
        ("layout == 1", {"layout": "col"}, False),
        ("a && !b || c", {"a": 1, "b": 0, "c": 0}, True),
        ("!a == b", {"a": 2, "b": 0}, True),  # C's precedence: (!a) == b
        ("not a == b", {"a": 2, "b": 0}, True),
        ("a if a > b else b", {"a": 2, "b": 5}, 5),
        ("x != 0 and 8 % x == 0", {"x": 0}, False),
        ("x == 0 or 8 % x == 0", {"x": 0}, True),
        ("ceildiv(7, 2) * 10 + ceildiv(8, 2)", {}, 44),
        ("ceildiv(-7, 2)", {}, -3),
        ("divides(4, n)", {"n": 12}, True),
        ("round_up(n, 32) + round_down(n, 32)", {"n": 40}, 96),
        ("is_pow2(64) and not is_pow2(0) and not is_pow2(48)", {}, True),
        ("log2(1024) + log2(1023)", {}, 19),
        ("gcd(12, 18, 9) + lcm(4, 6)", {}, 15),
        ("max(1, 2.5) + abs(-3) + int(-2.7)", {}, 3.5),
        ("in * lambda + class", {"in": 2, "lambda": 3, "class": 1}, 7),
        ("in in (2, 3)", {"in": 2}, True),
        ("true + True - false", {}, 2),
        ("+3", {}, 3),
        (" n\n * 2 ", {"n": 2}, 4),
        ("n", {"n": "text"}, "text"),
    ],
)
def test_meaning(text, names, value):
    result = Expression.parse(text).evaluate(names)
    assert result == value
    assert type(result) is type(value)


@pytest.mark.parametrize("value", [3, -3, 1.5, True, float("inf")])
def test_numbers_are_taken_as_they_are(value):
    expression = Expression.parse(value)
    assert expression.evaluate({}) == value
    assert pickle.loads(pickle.dumps(expression)).evaluate({}) == value


@pytest.mark.parametrize(
    ("text", "column", "found", "hint"),
    [
        ("x.y", 2, "'.'", "no attributes"),
        ("a + b[0]", 6, "'['", "no subscripts"),
        ("f(1)", 1, "unknown function 'f'", "known functions"),
        ("1 + cieldiv(1, 2)", 5, "unknown function 'cieldiv'", "ceildiv"),
        ("__import__('os')", 1, "unknown function", "known functions"),
        ("lambda: 1", 7, "':'", "if condition else"),
        ("c ? a : b", 3, "'?'", "if condition else"),
        ("a = b", 3, "'='", "=="),
        ("a is b", 3, "'is'", "=="),
        ("a ! b", 3, "'!'", "!="),
        ("a b", 3, "'b'", "insert an operator"),
        ("4u", 1, "'4u'", "no suffix"),
        ("2 ** 65", 6, "65", "64"),
        ("1 << 65", 6, "65", "64"),
        ("99999999999999999999", 1, "99999999999999999999", "2**64"),
        ("007", 1, "007", "leading zeros"),
        ("1e999", 1, "1e999", None),
        ("(1 + 2", 1, "never closed", None),
        ("1 + 2)", 6, "')'", None),
        ("(1]", 3, "']'", None),
        ("1 +", 3, "nothing follows '+'", None),
        ("* 2", 1, "missing before '*'", None),
        ("", 1, "empty", "ceildiv"),
        ("min()", 1, "min takes at least 1", None),
        ("ceildiv(1)", 1, "ceildiv takes 2", None),
        ("min(*a)", 5, "missing before '*'", None),
        ("(1, 2)", 1, "list of values", "in (1, 2, 4)"),
        ("a in b", 6, "needs a list", "in (1, 2, 4)"),
        ("a in (1, 2) == b", 1, "chain", "and"),
        ("'abc", 1, "closing quote", None),
        ("3(4)", 1, "only functions", None),
        ("{1: 2}", 1, "'{'", "(1, 2, 4)"),
        ("é + 1", 1, "'é'", None),
        ("-" * 300 + "1", 102, "nested", None),
        ("(" * 400 + "1" + ")" * 400, 1, "", None),
        ("1+" * 2500 + "1", 1, "4000", None),
        ("(1 for x in (1, 2))", 4, "'for'", None),
    ],
)
def test_refused_with_place_and_hint(text, column, found, hint):
    with pytest.raises(InputError) as caught:
        Expression.parse(text, location=Location(Path("kernel.toml"), 7, 1))
    error = caught.value
    assert found in error.message
    assert (error.location.line, error.location.column) == (7, column) or found == ""
    assert hint is None or hint in error.hint


def test_the_place_follows_offset_and_lines():
    with pytest.raises(InputError) as caught:
        Expression.parse("1 +\n  2 ?", location=Location(Path("k"), 3, 9), offset=1)
    assert str(caught.value.location) == "k:4:5"
    with pytest.raises(InputError) as caught:
        Expression.parse("1 ?", location=Location(Path("k"), 3, 9), offset=1)
    assert str(caught.value.location) == "k:3:12"


@pytest.mark.parametrize(
    ("text", "names", "message"),
    [
        ("1 + d / VEC", {"d": 8, "VEC": 0}, "division by zero in 'd / VEC' with VEC=0, d=8"),
        ("d % 0", {"d": 8}, "division by zero in 'd % 0' with d=8"),
        ("divides(a, 3)", {"a": 0}, "division by zero"),
        ("ceildiv(1, a)", {"a": 0}, "division by zero"),
        ("1.0 / a", {"a": 0.0}, "division by zero"),
        ("layout + 1", {"layout": "row"}, "expected a number, found the text 'row'"),
        ("layout < 1", {"layout": "row"}, "expected a number, found the text 'row'"),
        ("1 if layout else 2", {"layout": "row"}, "expected a number, found the text 'row'"),
        ("not layout", {"layout": "row"}, "expected a number, found the text 'row'"),
        ("a << b", {"a": 1, "b": -1}, "a shift by -1"),
        ("a ** b", {"a": 1, "b": 65}, "an exponent of 65"),
        ("a ** 64", {"a": 2**60}, "256 bits"),
        ("a * a", {"a": 2**200}, "256 bits"),
        ("a ** 60", {"a": 1e30}, "too large"),
        ("ceildiv(a, 2)", {"a": 1.5}, "expected an integer, found 1.5"),
        ("log2(a)", {"a": 0}, "log2 of 0"),
        ("int(a)", {"a": float("nan")}, "int of nan"),
    ],
)
def test_no_result(text, names, message):
    expression = Expression.parse(text)
    with pytest.raises(InputError) as caught:
        expression.evaluate(names)
    assert message in caught.value.message
    columns = {name: np.array([value, value], dtype=object) for name, value in names.items()}
    with pytest.raises(InputError) as many:
        expression.evaluate_many(columns)
    assert many.value.message == caught.value.message


def test_unknown_names_are_told_with_the_nearest():
    expression = Expression.parse("tokns * 2", location=Location(Path("k.toml"), 2, 5))
    for evaluate in (expression.evaluate, expression.evaluate_many):
        with pytest.raises(InputError, match="unknown name 'tokns'") as caught:
            evaluate({"tokens": 3})
        assert "'tokens'" in caught.value.hint
        assert caught.value.location.column == 5


def test_names_equality_and_pickling():
    expression = Expression.parse("a + min(b, c) if d in (e, 1) else a", location=Location(Path("k"), 1, 1))
    assert expression.names == frozenset("abcde")
    again = pickle.loads(pickle.dumps(expression))
    assert again == expression
    assert again.location == expression.location
    assert hash(again) == hash(expression)
    assert again.evaluate(dict.fromkeys("abcde", 1)) == 2


def test_only_the_rows_that_need_it_are_evaluated():
    columns = {"v": np.array([0, 1, 2, 3]), "n": 6}
    assert Expression.parse("v != 0 and n % v == 0").evaluate_many(columns).tolist() == [False, True, True, True]
    assert Expression.parse("n / v if v else -1").evaluate_many(columns).tolist() == [-1, 6, 3, 2]
    assert Expression.parse("0 < v < n / v").evaluate_many(columns).tolist() == [False, True, True, False]


def test_columns_do_not_overflow():
    columns = {"a": np.array([2**40, 3]), "b": np.array([2**40, 5])}
    assert Expression.parse("a * b").evaluate_many(columns).tolist() == [2**80, 15]
    assert Expression.parse("a * b > 2 ** 63").evaluate_many(columns).tolist() == [True, False]
    big = np.array([2**63 + 1, 2], dtype=np.uint64)
    assert Expression.parse("a + 1").evaluate_many({"a": big}).tolist() == [2**63 + 2, 3]


def test_a_constant_fills_the_columns_length():
    assert Expression.parse("n * 2").evaluate_many({"n": 4, "v": np.arange(3)}).tolist() == [8, 8, 8]
    assert Expression.parse("n * 2").evaluate_many({"n": 4}).tolist() == [8]
    assert Expression.parse("v").evaluate_many({"v": np.arange(0)}).tolist() == []


SMALL = [
    *(
        f"a {sign} b"
        for sign in ("+", "-", "*", "/", "//", "%", "**", "<<", ">>", "&", "|", "^", "<", "<=", ">", ">=", "==", "!=")
    ),
    *(f"{name}(a, b)" for name in ("min", "max", "ceildiv", "divides", "round_up", "round_down", "gcd", "lcm")),
    *(f"{name}(a)" for name in ("-", "~", "not ", "abs", "is_pow2", "int")),
]


@pytest.mark.parametrize("text", SMALL)
def test_every_integer_shortcut_agrees_on_small_numbers(text):
    """Where hypothesis rarely looks: all operands small enough for NumPy to compute."""
    expression = Expression.parse(text)
    a, b = (axis.ravel() for axis in np.meshgrid(np.array([*range(-20, 0), *range(1, 20)]), np.arange(1, 12)))
    expected = [expression.evaluate({"a": x, "b": y}) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    assert expression.evaluate_many({"a": a, "b": b}).tolist() == expected


# ── laws ──

_ATOMS = ["a", "b", "c", "t", "0", "1", "2", "7", "2.5", "'x'", "9223372036854775807"]
_PATTERNS = [
    *(f"({{}} {sign} {{}})" for sign in ("+", "-", "*", "/", "//", "%", "<<", ">>", "&", "|", "^")),
    *(f"({{}} {sign} {{}})" for sign in ("<", "<=", ">", ">=", "==", "!=", "and", "or", "&&", "||")),
    *(f"{name}({{}}, {{}})" for name in ("min", "max", "ceildiv", "divides", "round_up", "round_down", "gcd", "lcm")),
    *(f"({sign}({{}}))" for sign in ("-", "~", "not ", "!", "abs", "is_pow2", "log2", "int")),
    "({} ** 3)", "(2 ** {})", "({} in ({}, 1))", "({} not in [{}])", "({} < {} <= {})", "({} if {} else {})",
]  # fmt: skip


@st.composite
def expressions(draw, depth=3):
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        return draw(st.sampled_from(_ATOMS))
    pattern = draw(st.sampled_from(_PATTERNS))
    return pattern.format(*(draw(expressions(depth=depth - 1)) for _ in range(pattern.count("{}"))))


_INTEGERS = st.one_of(st.integers(-4, 70), st.integers(-(2**63), 2**63 - 1))
_CELLS = {
    "a": _INTEGERS,
    "b": st.one_of(st.booleans(), _INTEGERS),
    "c": st.one_of(_INTEGERS, st.floats(allow_nan=False)),
    "t": st.sampled_from(["x", "y", 1]),
}
ROWS = st.lists(st.fixed_dictionaries(_CELLS), min_size=1, max_size=5)


@settings(max_examples=250, deadline=None)
@given(expressions(), ROWS)
def test_many_equals_one_by_one(text, rows):
    try:
        expression = Expression.parse(text)
    except InputError as error:
        assert "is too large" in error.message  # noqa: PT017 - an exponent or shift of 2**63 - 1 is refused when read
        return
    columns = {name: _column([row[name] for row in rows]) for name in _CELLS}
    try:
        expected = [expression.evaluate(row) for row in rows]
    except InputError:
        with pytest.raises(InputError):
            expression.evaluate_many(columns)
        return
    found = expression.evaluate_many(columns).tolist()
    assert found == expected or str(found) == str(expected)  # nan equals nothing, not even itself


def _column(values):
    if all(type(value) is int for value in values):
        return np.array(values, dtype=np.int64)
    return np.array([*values, None], dtype=object)[:-1]


@settings(max_examples=200, deadline=None)
@given(st.one_of(st.text(max_size=40), st.text(alphabet="ab01.+-*/%<>=!&|^~()[], '\"\n_ifelsnotr", max_size=60)))
def test_parsing_raises_nothing_but_input_errors(text):
    try:
        expression = Expression.parse(text)
        expression.evaluate({"a": 1, "b": 0})
    except InputError:
        pass
