"""kill -9, kill and Ctrl-C at real processes: what was evaluated is kept, no process is left behind.

That a killed run goes on from there, with nothing evaluated twice, is in test_rounds.py and test_warm_start.py.
"""

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

EVALUATIONS = 30  # all there are: it does not end before it is stopped


def _evaluated(home: Path) -> int:
    database = home / "runs.sqlite"
    if not database.exists():
        return 0
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=10)
    try:
        return connection.execute("SELECT count(*) FROM evaluations").fetchone()[0]
    except sqlite3.OperationalError:  # opened between creation of the file and of its tables
        return 0
    finally:
        connection.close()


def _wait_for(home: Path, count: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 900
    while _evaluated(home) < count:
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
def test_a_stopped_run_is_kept(
    stop: signal.Signals,
    code: int,
    command: Callable[..., list[str]],
    environment: dict[str, str],
    home: Path,
    as_json: Callable[..., Any],
    warpsmith: Callable[..., Any],
    small_guide_kernel: Path,
):
    tune = command("tune", small_guide_kernel, "--evaluations", EVALUATIONS, "--json")
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
    assert process.wait(timeout=300) == code
    deadline = time.monotonic() + 120
    while any(_alive(child) for child in children):
        assert time.monotonic() < deadline, "a worker outlived its tuner"
        time.sleep(0.02)

    assert 4 <= _evaluated(home) < EVALUATIONS
    unfinished = as_json("show", "last")
    assert unfinished["general"] is None
    assert unfinished["status"] == ("killed" if stop is signal.SIGKILL else "interrupted")

    if stop is signal.SIGKILL:
        with (small_guide_kernel / "scale.cu").open("a") as source:
            source.write("// changed\n")
        assert "changed since" in warpsmith("resume", "last", expect=2).stderr, "its evaluations would mean another kernel"
    else:
        assert json.loads((home / "stdout").read_text()) == unfinished
        assert f"`warpsmith resume {unfinished['run']}`" in (home / "stderr").read_text()
        assert list(scratch.iterdir()) == []
