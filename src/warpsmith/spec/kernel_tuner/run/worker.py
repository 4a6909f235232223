"""The worker that runs scripts: `python -m warpsmith.spec.kernel_tuner.run.worker`. It is confined before it starts."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from types import FrameType

from warpsmith.isolation.serving import serve
from warpsmith.spec.kernel_tuner.recording import Recording, RunScript
from warpsmith.spec.kernel_tuner.run.own_modules import OwnModules
from warpsmith.spec.kernel_tuner.run.script_run import ScriptRun, TimeIsUpError

_PARTS = 3


def _run(job: RunScript, blobs: tuple[bytes, ...], _fds: tuple[int, ...]) -> tuple[Recording, tuple[bytes, ...]]:
    run = ScriptRun(Path(job.file), blobs[0].decode())
    folder = Path(job.file).parent
    os.chdir(folder)
    sys.argv = [job.file]
    sys.meta_path.insert(1, OwnModules(folder, run.compiled))  # behind the stand-ins
    signal.signal(signal.SIGALRM, _Interruptions())
    signal.setitimer(signal.ITIMER_REAL, job.seconds / _PARTS, job.seconds / _PARTS)
    try:
        run.run()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return run.recording(), ()


class _Interruptions:
    """The first ones end a statement that takes too long, which then counts as failed; the last one ends the run."""

    def __init__(self) -> None:
        self._count = 0

    def __call__(self, _number: int, _frame: FrameType | None) -> None:
        self._count += 1
        raise TimeoutError("it takes too long") if self._count < _PARTS else TimeIsUpError


if __name__ == "__main__":
    serve({RunScript: _run})
