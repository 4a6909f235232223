"""Runs the real command line in real processes, with its record in a folder of the test's own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "your-own-kernel.md"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def command(home: Path) -> Callable[..., list[str]]:
    return lambda *arguments: [sys.executable, "-m", "warpsmith", *map(str, arguments)]


@pytest.fixture
def environment(home: Path) -> dict[str, str]:
    return {**os.environ, "WARPSMITH_HOME": str(home)}


@pytest.fixture
def warpsmith(command: Callable[..., list[str]], environment: dict[str, str]) -> Callable[..., subprocess.CompletedProcess[str]]:
    def run(*arguments: Any, expect: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(command(*arguments), env=environment, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == expect, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    return run


@pytest.fixture
def as_json(warpsmith: Callable[..., subprocess.CompletedProcess[str]]) -> Callable[..., Any]:
    return lambda *arguments, **options: json.loads(warpsmith(*arguments, "--json", **options).stdout)


@pytest.fixture
def guide_kernel(tmp_path: Path) -> Path:
    """The kernel of the guide, exactly as the guide shows it: what people copy must work."""
    text = GUIDE.read_text()
    folder = tmp_path / "scale"
    folder.mkdir()
    (folder / "scale.cu").write_text(_block(text, "cuda"))
    (folder / "kernel.toml").write_text(_block(text, "toml"))
    return folder


def _block(text: str, language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", text, re.DOTALL)
    assert found is not None
    return found.group(1)
