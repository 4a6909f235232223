"""What killed processes left behind goes with the next worker; what belongs to a living one stays."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

_OWNER = "from warpsmith.isolation.scratch import Scratch; s = Scratch(); print(s.folder, flush=True); input()"


@pytest.fixture
def owner(tmp_path):
    """Starts a process that has a scratch folder until it is killed."""
    started = []

    def start() -> tuple[subprocess.Popen[str], Path]:
        environment = {**os.environ, "TMPDIR": str(tmp_path)}
        process = subprocess.Popen(
            [sys.executable, "-c", _OWNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        started.append(process)
        assert process.stdout is not None
        return process, Path(process.stdout.readline().strip())

    yield start
    for process in started:
        process.kill()
        process.communicate()


def _aged(folder: Path) -> None:
    os.utime(folder, (0, 0))


def test_folders_of_killed_processes_go(owner):
    living, kept = owner()
    dead, left = owner()
    (left / "note").write_text("x")
    other = left.parent / "warpsmith-replay-12345678"
    other.mkdir()
    dead.kill()
    dead.wait()
    for folder in (kept, left, other):
        _aged(folder)
    _, fresh = owner()
    assert living.poll() is None
    assert [folder.exists() for folder in (kept, left, other, fresh)] == [True, False, True, True]


def test_one_that_was_made_just_now_is_not_taken_for_left_behind(owner):
    dead, left = owner()
    dead.kill()
    dead.wait()
    owner()
    assert left.exists()
