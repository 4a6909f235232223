"""A gate for many users that one can close: closing waits until those inside have left."""

from __future__ import annotations

import threading
from types import TracebackType


class Gate:
    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside = 0
        self._is_shut = False

    def shut(self) -> None:
        with self._changed:
            self._is_shut = True
            self._changed.wait_for(lambda: self._inside == 0)

    def open(self) -> None:
        with self._changed:
            self._is_shut = False
            self._changed.notify_all()

    def __enter__(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: not self._is_shut)
            self._inside += 1

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with self._changed:
            self._inside -= 1
            self._changed.notify_all()
