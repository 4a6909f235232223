"""A script that is watched computes what it computes alone, and lengths keep the variables that they were computed from."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warpsmith.core.expression import Expression
from warpsmith.spec.host.terms import roots
from warpsmith.spec.host.wording import written
from warpsmith.spec.kernel_tuner.run.rewriting import HELPER, rewritten
from warpsmith.spec.kernel_tuner.run.runtime import Runtime
from warpsmith.spec.kernel_tuner.run.unknown import Unknown

NAMES = {"a": 7, "b": 32, "c": 100}
BEFORE = "import math, operator\nimport numpy as np\n" + "".join(f"{name} = {value}\n" for name, value in NAMES.items())


def watched(script: str) -> tuple[Runtime, dict[str, Any]]:
    runtime = Runtime()
    names: dict[str, Any] = {"__name__": "__main__", HELPER: runtime}
    exec(compile(rewritten(ast.parse(script), runtime.nodes), "tune.py", "exec"), names)
    return runtime, names


def text_of(term: Any) -> str:
    return written(term, {root: root.name for root in roots(term)})


def terms(script: str, name: str = "x") -> str | list[str]:
    runtime, names = watched(BEFORE + script)
    if isinstance(names[name], np.ndarray):
        return [text_of(extent.term) for extent in runtime.tracing.shape_of(names[name])]
    return text_of(runtime.tracing.term_of(names[name]))


def expressions(leaves: list[str], operators: list[str]) -> st.SearchStrategy[str]:
    return st.recursive(
        st.sampled_from(leaves),
        lambda inner: st.builds("({} {} {})".format, inner, st.sampled_from(operators), inner),
        max_leaves=8,
    )


@settings(max_examples=200, deadline=None)
@given(expressions([*NAMES, "1", "2", "3", "16", "-b"], ["+", "-", "*", "//", "%", "/", "&"]))
def test_numbers_are_pythons_and_their_terms_agree(text: str):
    try:
        expected = eval(text, dict(NAMES))
    except (ArithmeticError, TypeError):
        return
    # What is computed has no name of its own, so that the term is one over the others.
    runtime, names = watched(f"{BEFORE}x = [{text}]\n")
    (found,) = names["x"]
    assert found == expected
    assert isinstance(found, type(expected))
    term = runtime.tracing.term_of(found)
    if isinstance(expected, int) and term is not None and not isinstance(term, int) and "-" not in text_of(term):
        assert Expression.parse(text_of(term)).evaluate(NAMES) == expected


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("x = a * b + 1", "a * b + 1"),
        ("x = -(-a // 2)", "ceildiv(a, 2)"),
        ("x = int(np.ceil(c / 48))", "ceildiv(c, 48)"),
        ("x = int(c / 48)", "c / 48"),
        ("x = np.int32(a * b)", "a * b"),
        ("x = np.prod((a, b))", "a * b"),
        ("x = max(a, 3)", "a"),
        ("x = np.int32(b)\nx = x * 4", "4 * b"),
        ("x = len(np.zeros((a, b)))", "a"),
        ("x = np.zeros((a, b)).shape[1]", "b"),
        ("x = np.zeros((a, b)).size * 2", "2 * a * b"),
        ("def f(n):\n    return n * 2\nx = f(a)", "2 * a"),
        ("x = a\nx += b", "a + b"),
        ("t = {'n': [1, 9]}\nx = max(t['n'])", "9"),
        ("x, y = 5, 6\nx = y", "y"),
        ("size = (64, 64)\nx = np.prod(size)", "size_x * size_y"),
        ("x = np.log2(b)\nx = int(x)", "x"),
    ],
)
def test_numbers_remember_their_variables(script: str, expected: str):
    assert terms(script) == expected


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("x = np.zeros((a, b))", ["a", "b"]),
        ("x = np.ones((a, a)).astype(np.float32)", ["a", "a"]),
        ("x = np.zeros_like(np.zeros((a, 4)))", ["a", "4"]),
        ("x = np.random.randn(a * b)", ["a * b"]),
        ("x = np.random.randn(a, b).ravel()", ["a * b"]),
        ("x = np.sqrt(np.ones((a + 2) * b)) * 3.0", ["(a + 2) * b"]),
        ("x = np.ones((a, b)).T.copy()", ["b", "a"]),
        ("x = np.hstack([np.ones(a), np.ones(9)])", ["16"]),
        ("n = np.int32(1e3)\nx = np.random.rand(n)", ["n"]),
        ("def f(n=12):\n    return np.ones(n)\nx = f()", ["n"]),
    ],
)
def test_arrays_remember_what_their_lengths_are(script: str, expected: list[str]):
    assert terms(script) == expected


def test_numpy_gives_the_types_that_it_gives_without():
    _, names = watched("import numpy as np\nn = 3\nx = np.ones(4, np.float32) * n\ny = np.maximum(x, n)\nz = np.array([n])\n")
    assert [names[name].dtype.name for name in "xyz"] == ["float32", "float32", "int64"]


@pytest.mark.filterwarnings("ignore:overflow")
def test_products_of_numpys_scalars_are_wide_enough():
    """As in NumPy 1: an int32 of 2**17 times 2**16 was not 0."""
    assert terms("rows = np.int32(2**17)\nx = rows * 65536 + 1") == "65536 * rows + 1"


@pytest.mark.parametrize(
    ("script", "line"),
    [
        ("x = load(3)", 1),
        ("x = [1, 2][5]", 1),
        ("import nowhere\nx = nowhere.thing(4).other", 2),
        ("from nowhere import thing\nx = thing", 2),
        ("y = open('/nowhere')\nx = y.read()", 1),
        ("import numpy as np\nx = np.ones(3) * missing", 2),
        ("x = int(missing)", 1),
        ("x = f'{missing}'", 1),
        ("with open('/nowhere') as f:\n    x = f.read()", 1),
        ("x, y = missing", 1),
        ("import sys\nx = int(sys.argv[9])", 2),
        ("def f():\n    raise ValueError('no')\nx = f()", 3),
        ("raise SystemExit\nx = missing", 2),
        ("import numpy as np\nx = np.array([1, missing])", 2),
    ],
)
def test_what_fails_is_unknown_and_the_rest_goes_on(script: str, line: int):
    _, names = watched(f"{script}\ndone = 1\n")
    assert isinstance(names["x"], Unknown)
    assert names["x"].line == line
    assert names["done"] == 1


def test_an_error_that_the_script_expects_is_the_scripts():
    _, names = watched("try:\n    import nowhere\n    x = 1\nexcept ImportError:\n    x = 2\n")
    assert names["x"] == 2


def test_entries_whose_values_fail_are_unknown():
    _, names = watched("t = {}\nt['n'] = [int(v) for v in open('/nowhere')]\nt['m'] = [1]\n")
    assert isinstance(names["t"]["n"], Unknown)
    assert "FileNotFoundError" in names["t"]["n"].reason
    assert names["t"]["m"] == [1]


def test_of_an_unknown_condition_the_branch_that_tunes_is_taken():
    runtime, names = watched("if missing:\n    x = 1\nelse:\n    x = 2\nif missing:\n    tune_kernel\n    y = 1\n")
    assert (names["x"], names["y"], runtime.conditions) == (2, 1, [1, 5])
