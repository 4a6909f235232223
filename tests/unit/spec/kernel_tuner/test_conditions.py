"""Conditions of a Kernel Tuner script say in kernel.toml's language what they say in Python."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warpsmith.core.expression import Expression
from warpsmith.spec.kernel_tuner.conditions import ConditionReader

NAMES = {"a": 7, "b": 32, "c": 100}


def texts(leaves: list[str], operators: list[str]) -> st.SearchStrategy[str]:
    return st.recursive(
        st.sampled_from(leaves),
        lambda inner: st.builds("({} {} {})".format, inner, st.sampled_from(operators), inner),
        max_leaves=8,
    )


@settings(max_examples=300, deadline=None)
@given(
    st.recursive(
        st.builds(
            "{} {} {}".format,
            texts([*NAMES, "2", "32"], ["+", "*", "//", "%", "/"]),
            st.sampled_from(["==", "!=", "<", "<=", ">", ">="]),
            texts([*NAMES, "64", "1000"], ["+", "*"]),
        ),
        lambda inner: st.one_of(
            st.builds("({}) {} ({})".format, inner, st.sampled_from(["and", "or"]), inner),
            st.builds("not ({})".format, inner),
            st.builds("bool({}) and True".format, inner),
            st.builds("(({}) if a > 3 else ({}))".format, inner, inner),
        ),
        max_leaves=4,
    ),
    st.fixed_dictionaries({name: st.integers(1, 1024) for name in NAMES}),
)
def test_conditions_hold_where_pythons_do(text: str, values: dict[str, int]):
    found = ConditionReader(list(NAMES)).text(text)
    if found is None:
        return
    try:
        expected = bool(eval(text, dict(values)))
    except ZeroDivisionError:
        return
    assert bool(Expression.parse(found).evaluate(values)) == expected


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("lambda p: p['a'] * p['b'] <= limit", "a * b <= 64"),
        ("lambda a, b, c: a in choices", "a in (1, 2)"),
        ("lambda p: p.get('a', 1) % 2 == 0 and p['c'] / p['b'] >= 1.5", "a % 2 == 0 and 1.0 * c / b >= 1.5"),
        ("lambda p: math.ceil(p['c'] / p['a']) == 2 or int(p['c'] / p['b']) < 3", "ceildiv(c, a) == 2 or c // b < 3"),
        ("lambda p: np.prod([p['a'], p['b'], 2]) > 32", "a * b * 2 > 32"),
        ("lambda p: -(-p['c'] // p['b']) > 0", "ceildiv(c, b) > 0"),
        ("lambda p: p['a'] == True", "a == 1"),
        ("lambda p: p['unknown'] > 1", None),
        ("lambda p: open('x')", None),
        ("lambda p: [x for x in p]", None),
        ("lambda p: p", None),
        ("lambda p, q: p > q", None),
    ],
)
def test_functions_of_the_parameters(script: str, expected: str | None):
    def resolve(node: ast.expr) -> int | list[int] | None:
        return {"limit": 64, "choices": [1, 2]}.get(ast.unparse(node))

    function = ast.parse(script, mode="eval").body
    assert isinstance(function, ast.Lambda)
    assert ConditionReader(list(NAMES), resolve).function(function) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("    if p['a'] > 1024:\n        return False\n    return p['b'] > 1\n", "not a > 1024 and b > 1"),
        ("    '''Doc.'''\n    t = p['a'] * p['b']\n    u = t + 1\n    return u < 10\n", "a * b + 1 < 10"),
        ("    if p['a'] == 1:\n        return True\n    else:\n        return p['b'] == 2\n", "a == 1 or b == 2"),
        ("    if p['a'] == 1:\n        return False\n    return True\n", "not a == 1"),
        ("    t = p['a']\n" + "    t = t + t\n" * 60 + "    return t > 1\n", None),
        ("    for i in p:\n        pass\n    return True\n", None),
        ("    pass\n", None),
    ],
)
def test_bodies_that_only_decide(body: str, expected: str | None):
    (function,) = ast.parse(f"def restrict(p):\n{body}").body
    assert isinstance(function, ast.FunctionDef)
    assert ConditionReader(list(NAMES)).function(function) == expected
