"""The worker that runs scripts: `python -m warpsmith.spec.kernel_tuner.run.worker`. It is confined before it starts."""

from __future__ import annotations

import importlib.machinery
import os
import signal
import sys
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from warpsmith.isolation.serving import serve
from warpsmith.spec.kernel_tuner.recording import Recording, RunScript
from warpsmith.spec.kernel_tuner.run.script_run import ScriptRun, TimeIsUpError


def _run(job: RunScript, blobs: tuple[bytes, ...], _fds: tuple[int, ...]) -> tuple[Recording, tuple[bytes, ...]]:
    run = ScriptRun(Path(job.file), blobs[0].decode())
    folder = str(Path(job.file).parent)
    os.chdir(folder)
    sys.argv = [job.file]
    sys.path.insert(0, folder)
    _rewrite_modules_of(folder, run)
    signal.signal(signal.SIGALRM, _interrupt)
    signal.setitimer(signal.ITIMER_REAL, job.seconds)
    try:
        run.run()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return run.recording(), ()


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise TimeIsUpError


def _rewrite_modules_of(folder: str, run: ScriptRun) -> None:
    """What a script imports from its own folder is watched as it is."""
    compiled = importlib.machinery.SourceFileLoader.get_code

    def get_code(loader: importlib.machinery.SourceFileLoader, fullname: str) -> CodeType | None:
        path: Any = loader.get_filename(fullname)
        if not path.startswith(f"{folder}/") or "site-packages" in path:
            return compiled(loader, fullname)
        return run.compiled(loader.get_data(path).decode(errors="replace"), path, fullname)

    importlib.machinery.SourceFileLoader.get_code = get_code  # type: ignore[method-assign,assignment]


if __name__ == "__main__":
    serve({RunScript: _run})
