"""A condition that only running it tells admits, as an expression, what it admits."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

from warpsmith.core.expression import Expression
from warpsmith.spec.kernel_tuner.problem import ScriptTunable
from warpsmith.spec.kernel_tuner.run.probing import probed

PARAMETERS = [ScriptTunable("a", (1, 2, 4)), ScriptTunable("b", (8, 16, 32)), ScriptTunable("mode", ("x", "y"))]


def is_prime(p: dict[str, Any]) -> bool:
    return all((p["a"] + p["b"]) % k for k in range(2, p["a"] + p["b"]))


def named(b: int, a: int) -> bool:
    return a.bit_length() + b.bit_length() < 7


@pytest.mark.parametrize("condition", [is_prime, named, lambda p: p["mode"].startswith("x") or p["a"] == 2])
def test_it_admits_the_same(condition: Callable[..., bool]):
    text = probed(condition, PARAMETERS)
    assert text is not None
    for a, b, mode in product(*(p.values for p in PARAMETERS)):
        expected = condition(a=a, b=b) if condition is named else condition({"a": a, "b": b, "mode": mode})
        assert bool(Expression.parse(text).evaluate({"a": a, "b": b, "mode": mode})) == expected


def test_parameters_that_do_not_matter_are_left_out():
    assert probed(lambda p: p["b"].bit_length() == 4, PARAMETERS) == "b == 8"


def test_too_many_to_ask_or_a_failure_is_no_expression():
    many = [ScriptTunable(name, tuple(range(100))) for name in "abc"]
    assert probed(lambda p: len({*p.values()}) == 3, many) is None
    assert probed(lambda p: p["a"].bit_length() == 2 or p.get("d", 3) < 3, many) == "a in (2, 3)"
    assert probed(lambda p: p["nowhere"] > 1, PARAMETERS) is None
    assert probed(lambda p: p["a"] > 9, PARAMETERS) is None
