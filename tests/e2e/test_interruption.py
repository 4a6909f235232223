"""kill -9, kill and Ctrl-C at real processes: nothing recorded is lost, nothing is evaluated twice, no process is left behind."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

EVALUATIONS = 9


def _rows(home: Path) -> list[tuple[Any, ...]]:
    database = home / "runs.sqlite"
    if not database.exists():
        return []
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=10)
    try:
        return connection.execute("SELECT number, configuration, outcome, started_at FROM evaluations ORDER BY number").fetchall()
    except sqlite3.OperationalError:  # opened between creation of the file and of its tables
        return []
    finally:
        connection.close()


def _wait_for(home: Path, count: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 120
    while len(_rows(home)) < count:
        assert process.poll() is None, "the run ended before it could be stopped"
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _descendants(pid: int) -> set[int]:
    found = {pid}
    for _ in range(4):
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                except (OSError, IndexError):
                    continue
                if parent in found:
                    found.add(int(entry.name))
    return found - {pid}


def _alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in {"Z", "X"}


@pytest.mark.parametrize(
    ("stop", "code"), [(signal.SIGKILL, -9), (signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["kill -9", "Ctrl-C", "kill"]
)
def test_a_stopped_run_resumes(
    stop: signal.Signals,
    code: int,
    command: Callable[..., list[str]],
    environment: dict[str, str],
    home: Path,
    as_json: Callable[..., Any],
    warpsmith: Callable[..., Any],
    guide_kernel: Path,
):
    tune = command("tune", guide_kernel, "--evaluations", EVALUATIONS, "--json")
    scratch = home.parent / "scratch"
    scratch.mkdir()
    with (home / "stdout").open("w") as stdout, (home / "stderr").open("w") as stderr:
        process = subprocess.Popen(tune, env={**environment, "TMPDIR": str(scratch)}, stdout=stdout, stderr=stderr)
    _wait_for(home, 4, process)
    children = _descendants(process.pid)
    assert children, "kernels run in workers"
    if stop is signal.SIGKILL:
        os.kill(process.pid, signal.SIGSTOP)  # still there, but it does not get on meanwhile
        assert "another process" in warpsmith("resume", "last", expect=2).stderr
        assert as_json("show", "last")["status"] == "running"
    os.kill(process.pid, stop)
    assert process.wait(timeout=30) == code
    deadline = time.monotonic() + 10
    while any(_alive(child) for child in children):
        assert time.monotonic() < deadline, "a worker outlived its tuner"
        time.sleep(0.02)

    before = _rows(home)
    assert 4 <= len(before) < EVALUATIONS
    unfinished = as_json("show", "last")
    assert unfinished["general"] is None
    assert unfinished["status"] == ("killed" if stop is signal.SIGKILL else "interrupted")

    if stop is not signal.SIGKILL:
        assert json.loads((home / "stdout").read_text()) == unfinished
        assert f"`warpsmith resume {unfinished['run']}`" in (home / "stderr").read_text()
        assert list(scratch.iterdir()) == []
        return  # what is kept is kept the same way: resuming it once is enough
    source = guide_kernel / "scale.cu"
    text = source.read_text()
    source.write_text(text + "\n// changed\n")
    assert "changed since" in warpsmith("resume", "last", expect=2).stderr, "its evaluations would mean another kernel"
    source.write_text(text)

    result = as_json("resume", "last")
    after = _rows(home)
    assert after[: len(before)] == before, "what was recorded is untouched"
    assert len({row[1] for row in after}) == len(after) == EVALUATIONS, "nothing is evaluated twice, nothing is skipped"
    assert result["status"] == "finished"
    assert result["general"]["verified"]
