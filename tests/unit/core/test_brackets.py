"""Where brackets close."""

from __future__ import annotations

import pytest

from warpsmith.core.brackets import ANY, ROUND, until_closed


@pytest.mark.parametrize(
    ("texts", "depths", "taken"),
    [
        ("(a(b)c)d", ROUND, 7),
        ("([)]", ROUND, 3),  # other kinds do not count
        ("([)]", ANY, 4),
        (["<", "a", "<", "b", ">>", ";"], {"<": 1, ">": -1, ">>": -2}, 5),
        ("((a)", ROUND, None),
    ],
)
def test_the_first_bracket_is_closed(texts, depths, taken):
    assert until_closed(texts, depths) == taken
