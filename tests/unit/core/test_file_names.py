"""Names as names of files."""

import pytest

from warpsmith.core.file_names import as_file_name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("silu_and_mul", "silu_and_mul"),
        ("fused add (v2)", "fused-add-v2"),
        ("../../evil name", "evil-name"),
        ("..", "kernel"),
        ("/", "kernel"),
        (".hidden", "hidden"),
        ("größe.1", "größe.1"),
        ("a" * 99 + "ß" + "b", "a" * 99),
    ],
)
def test_one_component_that_leads_nowhere_else(text: str, name: str):
    assert as_file_name(text, "kernel") == name
