"""The lock of a run: at most one process works on it."""

from __future__ import annotations

import contextlib
import fcntl
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from warpsmith.core.errors import InputError
from warpsmith.record.run import RunRecord, Status

_LOCK = "lock"
_LOOKING_S = 0.2  # for which somebody who only looks whether it is locked may have the lock


@contextlib.contextmanager
def run_lock(folder: Path) -> Iterator[None]:
    """At most one process works on a run; the lock goes with its process, however that ends."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / _LOCK).open("w") as file:
        deadline = time.monotonic() + _LOOKING_S
        while not _locked(file, fcntl.LOCK_EX):
            if time.monotonic() > deadline:
                raise InputError(f"run {folder.name} is being worked on by another process", hint="wait for it to end")
            time.sleep(_LOOKING_S / 20)
        yield


def as_seen(record: RunRecord, folder: Path) -> RunRecord:
    """A run that the record calls running is killed when nobody holds its lock. `folder` is the run's own."""
    if record.status is not Status.RUNNING:
        return record
    return record if is_held(folder) else replace(record, status=Status.KILLED)


def is_held(folder: Path) -> bool:
    """Whether a process has the folder's lock."""
    try:
        with (folder / _LOCK).open("rb") as file:
            return not _locked(file, fcntl.LOCK_SH)
    except (FileNotFoundError, NotADirectoryError, ValueError):  # of a damaged record: a name that no file can have
        return False
    except OSError:
        return True  # somebody else's: it cannot be told


def _locked(file: IO[Any], kind: int) -> bool:
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
