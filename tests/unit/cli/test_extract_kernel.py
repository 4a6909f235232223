"""How `warpsmith extract --kernel` is read."""

import pytest

from warpsmith.cli.extract import _kernel


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("k", ("k", None, "")),
        ("a::b::k", ("a::b::k", None, "")),
        ("k<float, c10::Half>", ("k", None, "<float, c10::Half>")),
        ("a::k:120", ("a::k", 120, "")),
        ("k:7<3>", ("k", 7, "<3>")),
    ],
)
def test_a_name_a_line_and_arguments(given, expected):
    assert _kernel(given) == expected
