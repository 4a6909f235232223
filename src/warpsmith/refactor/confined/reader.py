"""Has a worker read what others wrote. One worker serves a process; it is started when it is first needed."""

from __future__ import annotations

import atexit
import pickle
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from warpsmith.core.fingerprint import fingerprint
from warpsmith.core.hardware import Limits
from warpsmith.isolation.folders import readable_entries
from warpsmith.isolation.jobs import Job
from warpsmith.isolation.process import WorkerDied, WorkerProcess, WorkerTimedOut
from warpsmith.refactor.base import Answer, Declined, Pass, Variant
from warpsmith.refactor.confined.jobs import CheckForm, LaneAccesses, LookAt
from warpsmith.refactor.drafting.draft import Draft
from warpsmith.refactor.proposal import Proposal
from warpsmith.source.lane_strides import Access
from warpsmith.spec.kernel import Kernel

DEADLINE_S = 10.0
MEMORY_BYTES = 2 << 30
_WORKER = "warpsmith.refactor.confined.worker"

Reply = TypeVar("Reply")


def problem_with_form(proposal: Proposal, kernel: Kernel, limits: Limits, *, is_whole_template: bool = False) -> str | None:
    """What reading tells against a form (`drafting.form_checks`), or that it could not be read."""
    try:
        return _reader().ask(CheckForm(proposal, is_whole_template), (kernel, limits), kernel.folders, proposal.source)
    except Unreadable as failure:
        return f"the source cannot be read: {failure}; write a simpler one"


def accesses_of(form: Proposal, kernel: Kernel) -> tuple[Access, ...]:
    """How far apart neighbouring threads touch memory in a form that somebody else wrote."""
    job = LaneAccesses(form.source, kernel.language, kernel.entry, tuple(tunable.name for tunable in form.tunables))
    try:
        return _reader().ask(job, (), kernel.folders, form.source)
    except Unreadable:
        return ()


def looked_at(draft: Draft, transform: Pass, variant: Variant) -> Answer:
    """What a pass makes of a form that somebody else wrote; it declines what it cannot read."""
    bare = replace(draft, branches=(), applications=())
    try:
        return _reader().ask(LookAt(variant), (bare, transform), draft.kernel.folders, variant.text)
    except Unreadable as failure:
        return Declined(f"the form cannot be read: {failure}")


class Unreadable(Exception):  # noqa: N818 - reads as the fact it states
    """The worker did not come to an end with a text."""


@dataclass(slots=True)
class _Reader:
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _worker: WorkerProcess | None = None
    _has_served: bool = False
    _unreadable: dict[str, str] = field(default_factory=dict)  # texts that no worker came to an end with, and how that went

    def ask(self, job: Job[Reply], beside: Any, folders: Iterable[Path], text: str) -> Reply:
        """Raises Unreadable, also for a text that was so before."""
        key = fingerprint(text)
        with self._lock:
            if key in self._unreadable:
                raise Unreadable(self._unreadable[key])
            try:
                return self._asked(job, pickle.dumps(beside), frozenset(folders))
            except WorkerTimedOut as late:
                self._unreadable[key] = f"reading it took longer than {late.limit_s:g} s"
            except WorkerDied as died:
                self._unreadable[key] = died.reason
            raise Unreadable(self._unreadable[key])

    def close(self) -> None:
        if self._worker is not None:
            self._worker.close()
            self._worker = None

    def _asked(self, job: Job[Reply], beside: bytes, folders: frozenset[Path]) -> Reply:
        worker = self._ready(folders)
        try:
            reply, _ = worker.call(job, (beside,), deadline_s=DEADLINE_S)
        except WorkerDied as died:
            if not (died.from_outside or self._has_served):
                raise
            # Nor what killed it from outside nor what others left behind in it must be held against this one.
            reply, _ = self._ready(folders).call(job, (beside,), deadline_s=DEADLINE_S)
        self._has_served = True
        return reply

    def _ready(self, folders: frozenset[Path]) -> WorkerProcess:
        """A worker can never be allowed more than it began with."""
        worker = self._worker
        if worker is None or not (worker.alive and readable_entries(folders) <= worker.readable):
            self.close()
            worker = self._worker = WorkerProcess(_WORKER, memory_bytes=MEMORY_BYTES, folders=folders, may_start_processes=True)
            self._has_served = False
        return worker


@cache
def _reader() -> _Reader:
    reader = _Reader()
    atexit.register(reader.close)
    return reader
