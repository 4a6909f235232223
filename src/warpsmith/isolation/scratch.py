"""Scratch folders of workers. Each is locked while its creator lives, so that those of killed processes can be recognised and
removed.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from functools import cache
from pathlib import Path

_PREFIX = "warpsmith-"
_FRESH_S = 60  # until it is locked, a folder is only as old as this


class Scratch:
    def __init__(self) -> None:
        _sweep()
        self.folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
        self._lock = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    def remove(self) -> None:
        with contextlib.suppress(RecursionError):  # folders in folders without end: not worth more than leaving them
            shutil.rmtree(self.folder, ignore_errors=True)
        os.close(self._lock)


@cache
def _sweep() -> None:
    """Removes folders of killed processes; once per process."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}????????"):
        with contextlib.suppress(OSError):  # somebody else's, no folder, or gone meanwhile
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                about = os.fstat(lock)
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if about.st_uid == os.getuid() and time.time() - about.st_mtime > _FRESH_S:
                    shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)
