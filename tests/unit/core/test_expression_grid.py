"""Over a grid an expression is what it is for each assignment, or the grid gives no answer."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warpsmith.core.errors import InputError
from warpsmith.core.expression import Expression
from warpsmith.core.expression.grid import evaluate_grid

_LEAVES = st.sampled_from(["a", "b", "n", "0", "1", "3", "true"])
_OPERATORS = st.sampled_from(["+", "-", "*", "/", "%", "//", "<<", "&", "**", "<", "<=", "==", "!=", "and", "or"])
_FUNCTIONS = st.sampled_from(["min", "max", "ceildiv", "gcd", "lcm", "divides"])
_TEXTS = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(
        st.tuples(inner, _OPERATORS, inner).map(lambda t: f"({' '.join(t)})"),
        st.tuples(inner, inner, inner).map(lambda t: f"({t[0]} if {t[1]} else {t[2]})"),
        st.tuples(_FUNCTIONS, inner, inner).map(lambda t: f"{t[0]}({t[1]}, {t[2]})"),
        st.tuples(inner, inner, inner).map(lambda t: f"({t[0]} not in ({t[1]}, {t[2]}))"),
        st.tuples(inner, inner, inner).map(lambda t: f"({t[0]} < {t[1]} <= {t[2]})"),
        inner.map(lambda text: f"(not {text})"),
        inner.map(lambda text: f"(-{text})"),
    ),
    max_leaves=8,
)  # fmt: skip
_AXIS = st.one_of(
    st.lists(st.integers(-4, 9), min_size=1, max_size=4), st.lists(st.integers(2**61, 2**62), min_size=1, max_size=2),
    st.lists(st.booleans(), min_size=1, max_size=2),
)  # fmt: skip


@settings(max_examples=500, deadline=None)
@given(_TEXTS, _AXIS, _AXIS, st.integers(-3, 20))
def test_a_grid_gives_what_single_assignments_give(text, a, b, n):
    expression = Expression.parse(text)
    found = evaluate_grid(expression.tree, {"a": np.array(a).reshape(-1, 1), "b": np.array(b).reshape(1, -1), "n": n})
    if found is None:
        return
    for (i, x), (j, y) in product(enumerate(a), enumerate(b)):
        expected = expression.evaluate({"a": x, "b": y, "n": n})
        value = np.broadcast_to(found, (len(a), len(b)))[i, j].item()
        assert value == expected
        assert isinstance(value, bool) == isinstance(expected, bool)


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("a * b + n <= 12", (3, 2)),
        ("a % 2 == 0 or n > 5", (3, 1)),
        ("min(b, n) in (1, 2)", (1, 2)),
        ("a if b > 4 else n", (3, 2)),
    ],
)
def test_parts_are_computed_over_their_own_axes_only(text, shape):
    axes = {"a": np.array([1, 2, 3]).reshape(-1, 1), "b": np.array([4, 5]).reshape(1, -1), "n": 4}
    found = evaluate_grid(Expression.parse(text).tree, axes)
    assert isinstance(found, np.ndarray)
    assert found.shape == shape


@pytest.mark.parametrize(
    "text", ["n / a", "b == 0 or n / a > 1", "a + 0.5", "t == 'row'", "a * huge * huge", "missing + a", "log2(a)"]
)
def test_no_answer_where_some_assignment_has_none_or_another_kind(text):
    axes = {"a": np.array([0, 1, 2]), "b": np.array([0, 1, 2]), "n": 4, "t": "row", "huge": 2**40}
    assert evaluate_grid(Expression.parse(text).tree, axes) is None


def test_a_part_of_an_expression_reports_errors_in_the_whole_text():
    whole = Expression.parse("a > 1 and 8 / a == 4")
    part = whole.part(whole.tree.operands[1])
    assert str(part) == "8 / a == 4"
    assert part.names == {"a"}
    assert part.evaluate({"a": 2}) is True
    with pytest.raises(InputError, match=r"division by zero in '8 / a' with a=0 .expression 'a > 1 and 8 / a == 4'"):
        part.evaluate({"a": 0})
