"""One slot of the pool: a worker process that is started on demand and replaced when it dies."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from warpsmith.core.outcome import Crashed, TimedOut
from warpsmith.devices.base import Binary
from warpsmith.isolation.folders import readable_entries
from warpsmith.isolation.jobs import Job
from warpsmith.isolation.process import WorkerDied, WorkerProcess, WorkerTimedOut

Folders: TypeAlias = frozenset[Path]


class Slot:
    """Used by one thread; only `shut`, which precedes `close`, may be called from another."""

    def __init__(self, start: Callable[[Folders], WorkerProcess]) -> None:
        self._start = start
        self._lock = threading.Lock()
        self._worker: WorkerProcess | None = None
        self._jobs_done = 0
        self._is_shut = False

    def run(self, job: Job[Any], blobs: Sequence[bytes], deadline_s: float, folders: Folders) -> Any:
        """The reply, or how the worker failed. `folders` are those that it must be able to read."""
        was_killed = False
        while True:
            try:
                return self._call(job, blobs, deadline_s, folders)
            except WorkerTimedOut as error:
                return TimedOut(f"compiling took longer than {error.limit_s:g} s", error.limit_s)
            except WorkerDied as error:
                # If it was killed from outside, or had served other requests before, their leftovers (memory, a damaged
                # runtime) must not count against this one. Killed twice, this request probably uses too much memory itself.
                is_innocent = not was_killed if error.from_outside else self._jobs_done > 0
                if self._is_shut or not is_innocent:
                    return Crashed(
                        f"{error.reason}; so was a second worker" if was_killed and error.from_outside else error.reason
                    )
                was_killed = was_killed or error.from_outside
                self._jobs_done = 0

    def shut(self) -> None:
        """End the worker, busy or not, and start no other."""
        with self._lock:
            self._is_shut = True
            if self._worker is not None:
                self._worker.kill()

    def close(self) -> None:
        if self._worker is not None:
            self._worker.close()

    def _call(self, job: Job[Any], blobs: Sequence[bytes], deadline_s: float, folders: Folders) -> Any:
        with self._lock:
            if self._is_shut:
                raise WorkerDied("the pool is closed")
            # A worker's limits can never be raised after its start.
            if self._worker is not None and not (self._worker.alive and readable_entries(folders) <= self._worker.readable):
                self._worker.close()
                self._worker = None
            if self._worker is None:
                self._worker = self._start(folders)
                self._jobs_done = 0
            worker = self._worker
        reply, made = worker.call(job, blobs, deadline_s=deadline_s)
        self._jobs_done += 1
        return replace(reply, code=made[0]) if isinstance(reply, Binary) and made else reply
