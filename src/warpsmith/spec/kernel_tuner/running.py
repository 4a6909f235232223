"""Runs a script in a confined worker, or only reads it where that is impossible."""

from __future__ import annotations

import os
from pathlib import Path

from warpsmith.isolation.confinement import confinement_report
from warpsmith.isolation.process import WorkerDied, WorkerProcess, WorkerTimedOut
from warpsmith.settings import Confinement
from warpsmith.spec.kernel_tuner.reading import calls_read
from warpsmith.spec.kernel_tuner.recording import Recording, RunScript

_WORKER = "warpsmith.spec.kernel_tuner.run.worker"
_SECONDS = 60.0  # scripts compute what the kernel should give, too
_GRACE_S = 20.0  # an interrupted script is heard of when NumPy returns
_MEMORY_SHARE = 0.75  # of the machine's: scripts make arrays as large as a GPU's memory


def recorded(file: Path, text: str) -> Recording:
    """The script's `tune_kernel` calls; `problem` says why it was only read, or how its run ended."""
    report = confinement_report()
    if report.setting is Confinement.ON and report.missing:
        return _read(file, text, f"workers cannot be confined, missing {' and '.join(report.missing)}")
    file = file.absolute()
    memory = int(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * _MEMORY_SHARE)
    try:
        with WorkerProcess(_WORKER, memory_bytes=memory, folders=[file.parent]) as worker:
            found, _ = worker.call(RunScript(str(file), _SECONDS), [text.encode()], deadline_s=_SECONDS + _GRACE_S)
    except WorkerTimedOut as error:
        return _read(file, text, str(error))
    except WorkerDied as error:
        return _read(file, text, error.reason)
    if not all(root.name.isidentifier() for call in found.calls for root, _ in call.origins):
        return _read(file, text, "its record has invalid names")  # what ran there may have written anything
    return found if found.calls else _read(file, text, found.problem or "its run did not reach a call")


def _read(file: Path, text: str, problem: str) -> Recording:
    return Recording(calls_read(file, text), problem, is_read=True)
