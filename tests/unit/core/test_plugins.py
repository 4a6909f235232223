"""Plug-ins by name: the same one found twice is one, two of a name are an error."""

from importlib import metadata

import pytest

from warpsmith.core.errors import InputError
from warpsmith.core.plugins import plugins


@pytest.fixture
def installed(monkeypatch):
    def install(*entries):
        found = metadata.EntryPoints(metadata.EntryPoint(name, value, "warpsmith.passes") for name, value in entries)
        monkeypatch.setattr(metadata, "entry_points", lambda **_: found)

    return install


def test_an_entry_that_is_found_twice_is_one(installed):
    installed(("unroll", "a:Unroll"), ("unroll", "a:Unroll"), ("mine", "b:Mine"))
    assert sorted(plugins("warpsmith.passes")) == ["mine", "unroll"]


def test_two_of_a_name_are_an_error(installed):
    installed(("unroll", "a:Unroll"), ("unroll", "b:Mine"))
    with pytest.raises(InputError, match="a:Unroll and b:Mine"):
        plugins("warpsmith.passes")
