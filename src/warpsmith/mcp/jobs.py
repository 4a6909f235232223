"""Tuning jobs: `warpsmith tune` in separate processes, with a register on disk.

A job is an ordinary run. It outlives the call that started it and the server too: a server that starts again finds the job's
folder, and the rest in the record of runs. What is known of a process is its id and when it started, so that an id that was given
to another process meanwhile is not taken for it.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import TypeAdapter

from warpsmith.core.errors import InputError

_NAME = re.compile(r"job-[0-9a-f]{6}")
_RUN_LINE = re.compile(r"^run\s+(\S+)\s*$", re.MULTILINE)
_POLL_S = 0.05
_ENTRY, _STOPPED = "job.json", "stopped"
_NO_PROCESS = 0  # no process that could be asked about has this number
STOPPING_S = 20.0  # what an interrupted run may take to put down its work


@dataclass(frozen=True, slots=True)
class JobEntry:
    job: str
    kernel: str  # path of its kernel.toml
    command: tuple[str, ...]
    pid: int
    process_started: str  # as the system counts it
    started_at: float
    evaluations: int | None
    seconds: float | None


_JSON = TypeAdapter(JobEntry)


class JobRegister:
    """All jobs below one folder. Safe to use from several servers at once."""

    def __init__(self, folder: Path, command: Sequence[str] = (sys.executable, "-m", "warpsmith")) -> None:
        self._folder = folder
        self._command = tuple(command)
        self._children: dict[int, subprocess.Popen[bytes]] = {}  # ours, to be reaped

    def start(self, kernel: str, arguments: Sequence[str], *, evaluations: int | None, seconds: float | None) -> JobEntry:
        """Raises InputError while another job runs: kernels that are timed side by side are timed wrongly."""
        with self._lock():
            for other in self.all():
                if self.is_alive(other):
                    raise InputError(
                        f"{other.job} is running, and two runs at once would disturb each other's times",
                        hint="poll job_status until it is finished, or call stop_job",
                    )
            name = f"job-{secrets.token_hex(3)}"
            folder = self._folder / name
            folder.mkdir(parents=True)
            command = (*self._command, *arguments)
            entry = JobEntry(name, kernel, command, _NO_PROCESS, "", time.time(), evaluations, seconds)
            _write(folder, entry)  # a disk that is full says so before anything runs
            with (folder / "result.json").open("wb") as output, (folder / "log.txt").open("wb") as log:
                process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=log,
                    start_new_session=True,  # the server's end, or a Ctrl-C for it, is not the run's
                )
            self._children[process.pid] = process
            entry = replace(entry, pid=process.pid, process_started=_started(process.pid) or "")
            _write(folder, entry)
            return entry

    def find(self, name: str) -> JobEntry:
        found = _read(self._folder / name / _ENTRY) if _NAME.fullmatch(name) is not None else None
        if found is None:
            raise InputError(f"no job {name!r}", hint="list_jobs names them")
        return found

    def all(self) -> list[JobEntry]:
        """The latest first. What cannot be read is no job: a machine that lost its power may leave empty files."""
        found = (_read(file) for file in self._folder.glob(f"job-*/{_ENTRY}"))
        return sorted((entry for entry in found if entry is not None), key=lambda entry: -entry.started_at)

    def log_path(self, entry: JobEntry) -> Path:
        return self._folder / entry.job / "log.txt"

    def log(self, entry: JobEntry) -> str:
        try:
            return self.log_path(entry).read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return ""

    def run_of(self, entry: JobEntry) -> str | None:
        """The run's name, as the job's log says it; None before it has begun."""
        found = _RUN_LINE.search(self.log(entry))
        return found[1] if found else None

    def is_stopped(self, entry: JobEntry) -> bool:
        """Whether somebody asked for its end, before it came by itself."""
        return (self._folder / entry.job / _STOPPED).exists()

    def is_alive(self, entry: JobEntry) -> bool:
        child = self._children.get(entry.pid)
        if child is not None and child.poll() is not None:
            return False
        return _started(entry.pid) == entry.process_started

    def stop(self, entry: JobEntry) -> None:
        """As Ctrl-C does: everything measured is kept. A process that does not heed it is killed."""
        if self.is_alive(entry):
            (self._folder / entry.job / _STOPPED).touch()
        # Not SIGINT: what is started in the background of a shell ignores that, and so does all that it starts.
        for number, patience_s in ((signal.SIGTERM, STOPPING_S), (signal.SIGKILL, 5.0)):
            if not self.is_alive(entry):
                return
            with suppress(ProcessLookupError):
                os.kill(entry.pid, number)
            deadline = time.monotonic() + patience_s
            while self.is_alive(entry) and time.monotonic() < deadline:
                time.sleep(_POLL_S)

    @contextmanager
    def _lock(self) -> Iterator[None]:
        self._folder.mkdir(parents=True, exist_ok=True)
        with (self._folder / "lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


def _read(file: Path) -> JobEntry | None:
    """None for what is not there, or not whole."""
    try:
        return _JSON.validate_json(file.read_bytes())
    except (OSError, ValueError):
        return None


def _write(folder: Path, entry: JobEntry) -> None:
    """All of it or nothing, whatever happens meanwhile."""
    draft = folder / f".{_ENTRY}"
    draft.write_bytes(_JSON.dump_json(entry))
    draft.replace(folder / _ENTRY)


def _started(pid: int) -> str | None:
    """When a living process began, as the system counts it; None for one that is gone, or only waits to be reaped."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return _started_elsewhere(pid)
    state, *fields = stat.rpartition(")")[2].split()
    return None if state in {"Z", "X"} else fields[18]


def _started_elsewhere(pid: int) -> str | None:
    """On systems without /proc."""
    if Path("/proc/self/stat").exists():
        return None
    done = subprocess.run(["ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
    state, _, began = done.stdout.strip().partition(" ")
    return None if not state or state.startswith("Z") else began.strip()
