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


def _run(job: RunScript, blobs: tuple[bytes, ...], _fds: tuple[int, ...]) -> tuple[Recording, tuple[bytes, ...]]:
    run = ScriptRun(Path(job.file), blobs[0].decode())
    folder = Path(job.file).parent
    os.chdir(folder)
    sys.argv = [job.file]
    sys.meta_path.insert(1, OwnModules(folder, run.compiled))  # behind the stand-ins
    signal.signal(signal.SIGALRM, _interrupt)
    signal.setitimer(signal.ITIMER_REAL, job.seconds)
    try:
        run.run()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return run.recording(), ()


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise TimeIsUpError


if __name__ == "__main__":
    serve({RunScript: _run})
