"""The Python face: every name is there, and brings along no more than it needs."""

from __future__ import annotations

import subprocess
import sys

import pytest

import warpsmith
from warpsmith import api


@pytest.mark.parametrize("name", api.__all__)
def test_every_name_is_there(name):
    assert getattr(api, name).__name__ == name


def test_the_package_offers_the_same():
    assert set(warpsmith.__all__) <= set(api.__all__)
    assert warpsmith.tune is api.tune


def test_what_is_not_there_is_said():
    with pytest.raises(AttributeError, match=r"has no attribute 'tunes'"):
        _ = api.tunes


@pytest.mark.parametrize(
    ("use", "spared"),
    [
        ("api.list_runs()", ["plotly", "warpsmith.compile", "warpsmith.refactor", "warpsmith.source", "warpsmith.search.gp"]),
        ("api.load_kernel('softmax')", ["plotly", "warpsmith.compile", "warpsmith.refactor", "warpsmith.search"]),
        ("api.list_devices", ["plotly", "warpsmith.refactor", "warpsmith.source", "warpsmith.search", "warpsmith.devices.cpu"]),
    ],
)
def test_nobody_waits_for_what_is_not_used(use, spared, tmp_path, monkeypatch):
    monkeypatch.setenv("WARPSMITH_HOME", str(tmp_path))
    code = f"import sys\nfrom warpsmith import api\n{use}\nprint(*(name for name in {spared} if name in sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert loaded == []
