"""Runs the real command line in real processes, with its record in a folder of the test's own.

Commands that only read and print run in this process: starting Python takes longer than what they do, and the others show that
a process of one's own works.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from warpsmith.cli import main

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "your-own-kernel.md"
READING = {"check", "init", "show", "space"}


@pytest.fixture(scope="session")
def binaries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for all: what every run compiles (the roofline's probes, the guide's kernel) is compiled once."""
    return tmp_path_factory.mktemp("binaries")


@pytest.fixture
def home(tmp_path: Path, binaries: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "binaries").symlink_to(binaries)
    return folder


@pytest.fixture
def command(home: Path) -> Callable[..., list[str]]:
    return lambda *arguments: [sys.executable, "-m", "warpsmith", *map(str, arguments)]


@pytest.fixture
def environment(home: Path) -> dict[str, str]:
    # Two processes say less than five, but as much about whether everything works.
    return {**os.environ, "WARPSMITH_HOME": str(home), "WARPSMITH_CLAIM_PROCESSES": "2"}


@pytest.fixture
def warpsmith(command: Callable[..., list[str]], environment: dict[str, str]) -> Callable[..., subprocess.CompletedProcess[str]]:
    def run(*arguments: Any, expect: int = 0) -> subprocess.CompletedProcess[str]:
        whole = command(*arguments)
        if arguments[0] in READING:
            done = _in_this_process(whole, environment)
        else:
            done = subprocess.run(whole, env=environment, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == expect, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    return run


def _in_this_process(command: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    arguments = command[command.index("warpsmith") :]
    with (
        contextlib.redirect_stdout(io.StringIO()) as stdout,
        contextlib.redirect_stderr(io.StringIO()) as stderr,
        mock.patch.object(sys, "argv", arguments),
        mock.patch.dict(os.environ, environment, clear=True),
        pytest.raises(SystemExit) as ended,
    ):
        main()
    return subprocess.CompletedProcess(command, int(ended.value.code or 0), stdout.getvalue(), stderr.getvalue())


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
