"""Python that is read gives what Python that runs gives: numbers, lists, conditions, arrays."""

from __future__ import annotations

import ast
import math
import operator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warpsmith.core.expression import Expression
from warpsmith.spec.host.terms import roots
from warpsmith.spec.host.wording import written
from warpsmith.spec.kernel_tuner.conditions import ConditionReader
from warpsmith.spec.kernel_tuner.python.follow import ScriptFollower
from warpsmith.spec.kernel_tuner.python.values import Listed, ScriptArray, ScriptNumber, ScriptScope, Unknown

NAMES = {"a": 7, "b": 32, "c": 100}


def followed(script: str) -> ScriptFollower:
    return ScriptFollower(ast.parse(script), "script.py")


def value_of(text: str, before: str = "") -> object:
    follower = followed(f"import numpy as np, math\n{before}\n")
    return plain(follower.of(ast.parse(text, mode="eval").body, ScriptScope({}, follower.globals)))


def plain(value: object) -> object:
    match value:
        case ScriptNumber(value=number):
            return number
        case Listed(items=items):
            return [plain(item) for item in items]
        case ScriptArray(dtype=dtype, shape=shape, fill=fill):
            return (dtype, tuple(plain(extent) for extent in shape), fill.kind)
        case _:
            return value


SIGNS = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
    ast.Div: operator.truediv, ast.LShift: operator.lshift, ast.RShift: operator.rshift, ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
}  # fmt: skip


def pythons(node: ast.expr) -> float:
    """What Python would say. Numbers of gigabytes, which `1 << (1 << 40)` is, are an error to it here."""
    match node:
        case ast.BinOp(left=left, op=sign, right=right):
            first, second = pythons(left), pythons(right)
            if isinstance(sign, ast.LShift | ast.RShift) and second > 4096:
                raise OverflowError
            return SIGNS[type(sign)](first, second)
        case ast.Name(id=name):
            return NAMES[name]
        case _:
            return ast.literal_eval(node)


def texts(leaves: list[str], operators: list[str]) -> st.SearchStrategy[str]:
    return st.recursive(
        st.sampled_from(leaves),
        lambda inner: st.builds("({} {} {})".format, inner, st.sampled_from(operators), inner),
        max_leaves=8,
    )


@settings(max_examples=300, deadline=None)
@given(texts([*NAMES, "1", "2", "3", "16"], ["+", "-", "*", "//", "%", "/", "<<", ">>", "&", "|"]))
def test_numbers_are_pythons_and_their_terms_agree(text: str):
    follower = followed("".join(f"{name} = {value}\n" for name, value in NAMES.items()))
    found = follower.of(ast.parse(text, mode="eval").body, follower.globals)
    try:
        expected = pythons(ast.parse(text, mode="eval").body)
    except (ArithmeticError, ValueError, TypeError):
        expected = None
    if expected is None or (isinstance(expected, int) and expected.bit_length() > 4096):
        assert isinstance(found, Unknown)
        return
    if isinstance(found, Unknown):
        return  # `|` of a float, a shift by thousands
    assert isinstance(found, ScriptNumber)
    assert found.value == expected
    is_large = isinstance(expected, int) and (expected < 0 or expected.bit_length() > 60)
    if isinstance(expected, int) and not isinstance(expected, bool) and found.term is not None and not is_large:
        # As C++ has it, terms divide only what is not negative: a script's sizes are not.
        text_of_term = written(found.term, {root: root.name for root in roots(found.term)})
        if "- " not in text_of_term and "-" not in text:
            assert Expression.parse(text_of_term).evaluate(NAMES) == expected


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
    follower = followed("import numpy as np, math\nlimit = 64\nchoices = [1, 2]\n")

    def resolve(node: ast.expr) -> object:
        found = plain(follower.of(node, follower.globals))
        return found if isinstance(found, int | float | str | list) else None

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


@pytest.mark.parametrize(
    "text",
    [
        "[32 * i for i in range(1, 33)]", "[2**i for i in range(5, 11)]", "list(range(0, 10, 3))",
        "[i for i in range(20) if i % 2]",
        "[1] + [2, 3] * 2", "sorted([3, 1, 2], reverse=True)", "[x * y for x in [1, 2] for y in (3, 4)]", "max([1, 5, 2])",
        "len([1, 2, 3])", "sum([1, 2, 3])", "int(1e7)", "-7 // 2", "[1, 2, 3][-1]", "[1, 2, 3, 4][1:3]", "1 if 2 > 1 else 3",
        "int(math.sqrt(64))", "math.ceil(7 / 2)", "'a' + 'b'", "f'{1 + 1}x'", "'%d-%s' % (1, 'a')", "min(3, 4) ** 2", "0x20 << 1",
        "[a for a, b in zip([1, 2], [3, 4])]", "[i * v for i, v in enumerate([5, 6])]", "not 0", "1 < 2 < 3", "2 in [1, 2]",
    ],
)  # fmt: skip
def test_values_are_pythons(text: str):
    assert value_of(text) == eval(text, {"math": math})


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("np.random.randn(n).astype(np.float32)", "normal"), ("np.random.rand(n, 3).astype('float32')", "uniform"),
        ("np.zeros(n, dtype=np.int32)", "zeros"), ("np.ones((4, n))", "ones"), ("np.empty_like(np.ones(n, np.float16))", "empty"),
        ("np.arange(n)", "arange"), ("np.arange(2, n, 2)", None),
        ("np.random.randint(0, 9, size=(n, n)).astype(np.uint8)", "randint"),
        ("np.full(n, 1.0)", "ones"), ("np.full((n, 2), 3, dtype=np.int16)", None), ("np.random.uniform(-1, 1, n)", "uniform"),
        ("np.array([1.0, 2.0, 3.0], dtype=np.float32)", None), ("np.linspace(0, 1, 5)", None),
        ("np.array([[0, 0], [0, 0]])", "zeros"),
        ("np.random.permutation(n)", "permutation"), ("np.random.random(n).reshape(-1, 4).astype(np.float64)", "uniform"),
        ("np.zeros((n, 2)).T.copy()", "zeros"), ("np.random.default_rng(1).standard_normal(n).astype(np.float32)", "normal"),
        ("np.zeros(n, np.uint64).flatten()", "zeros"), ("(np.random.rand(n) * 4 - 2).astype(np.float32)", "uniform"),
        ("np.sqrt(np.ones(n))", None), ("np.random.normal(0, 1, size=n)", "normal"), ("np.random.normal(3, 1, size=n)", None),
    ],
)  # fmt: skip
def test_arrays_are_numpys(text: str, kind: str | None):
    real = eval(text, {"np": np, "n": 8})
    dtype, shape, fill = value_of(text, "n = 8")  # type: ignore[misc]
    assert (dtype.numpy, shape) == (real.dtype, real.shape)
    assert fill == kind


@pytest.mark.parametrize(
    "text",
    ["9**9**9", "range(10**18)", "[1] * 10**10", "1 / 0", "[x for x in range(10**4) for y in range(10**4)]", "nothing", "open",
     "np.zeros(-1)", "np.float32(10**400)", "math.log2(-1)", "(lambda: loop())()", "int('x')", "np.arange(0, 1, 0)", "[][0]"],
)  # fmt: skip
def test_what_cannot_be_followed_or_never_ends_is_unknown(text: str):
    assert not isinstance(value_of(text, "def loop():\n    return loop()\n"), int | float | list)
