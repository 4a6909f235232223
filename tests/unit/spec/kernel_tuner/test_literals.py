"""Plain values in texts are Python's, and nothing else is computed."""

from __future__ import annotations

import pytest

from warpsmith.spec.kernel_tuner.literals import FAILURES, value_of_text


@pytest.mark.parametrize(
    "text",
    ["[1] + [2, 3] * 2", "sorted([3, 1, 2])", "[x * y for x in [1, 2] for y in (3, 4)]", "max(3, 4) ** 2", "-7 // 2",
     "[16*i for i in range(1, 5)]", "list(range(0, 9, 2))", "{'a': [1, 2]}['a']", "0x20 << 1", "len([1, 2])", "[1, 2, 3][-1]"],
)  # fmt: skip
def test_values_are_pythons(text: str):
    assert value_of_text(text, {}) == eval(text)


def test_names_have_the_values_that_are_given():
    assert value_of_text("ProblemSize[0] * max(tile)", {"ProblemSize": [8, 9], "tile": [1, 4]}) == 32


@pytest.mark.parametrize(
    "text",
    ["9**9**9", "range(10**18)", "[1] * 10**10", "1 / 0", "[x for x in range(10**4) for y in range(10**4)]", "nothing",
     "open('x')", "__import__('os')", "int('x')", "[][0]", "(", "lambda: 1", "'a' * 10**9", "1 << 10**9", "().__class__"],
)  # fmt: skip
def test_what_is_no_plain_value_or_never_ends_is_refused(text: str):
    with pytest.raises(FAILURES):
        value_of_text(text, {})
