"""Names as names of files, and paths as text."""

import os
from pathlib import Path

import pytest

from warpsmith.core.errors import InputError
from warpsmith.core.file_names import as_argument, as_file_name, require_recordable


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


def test_a_path_in_a_command_is_one_argument():
    assert as_argument(Path("plain/kernel.toml")) == "plain/kernel.toml"
    assert as_argument("it's here/kernel.toml") == """'it'"'"'s here/kernel.toml'"""


def test_a_path_that_is_no_text_cannot_be_put_on_record():
    require_recordable(Path("größe/漢字"))
    with pytest.raises(InputError, match=r"\\xff/kernel.toml is not valid text in this locale"):
        require_recordable(Path(os.fsdecode(b"\xff/kernel.toml")))
