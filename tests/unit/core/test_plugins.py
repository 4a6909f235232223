"""Plug-ins by name: the same one found twice is one, two of a name are an error."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from warpsmith.core.errors import InputError
from warpsmith.core.plugins import plugins

GROUP = "warpsmith.of_this_test"


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Packages of one plug-in each."""
    monkeypatch.syspath_prepend(tmp_path)

    def install(*entries: tuple[str, str]) -> None:
        for name, value in entries:
            there = len(list(tmp_path.iterdir()))
            package = tmp_path / f"package{there}-1.dist-info"
            package.mkdir()
            (package / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package.name.partition('-')[0]}\nVersion: 1\n")
            (package / "entry_points.txt").write_text(f"[{GROUP}]\n{name} = {value}\n")
            os.utime(tmp_path, (there, there))  # two changes within a tick of the clock look like one

    return install


def test_an_entry_that_is_found_twice_is_one(install: Callable[..., None]) -> None:
    install(("unroll", "a:Unroll"), ("unroll", "a:Unroll"), ("mine", "b:Mine"))
    assert sorted(plugins(GROUP)) == ["mine", "unroll"]


def test_two_of_a_name_are_an_error(install: Callable[..., None]) -> None:
    install(("unroll", "a:Unroll"), ("unroll", "b:Mine"))
    with pytest.raises(InputError, match=r"a:Unroll and b:Mine|b:Mine and a:Unroll"):
        plugins(GROUP)


def test_what_is_installed_meanwhile_is_found(install: Callable[..., None]) -> None:
    """In a notebook, say."""
    install(("unroll", "a:Unroll"))
    assert sorted(plugins(GROUP)) == ["unroll"]
    install(("mine", "b:Mine"))
    assert sorted(plugins(GROUP)) == ["mine", "unroll"]
