"""Compile workers on borrowed cores, used while their owner waits: running compilations finish before it continues."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from warpsmith.compile.slot import Slot

Take: TypeAlias = Callable[[], Callable[[Slot], None] | None]
"""The next task, without waiting; None or queue.Empty if there is none."""


class Assistants:
    """One thread per slot, whose worker process starts with its first task and is kept."""

    def __init__(self, slots: Sequence[Slot], take: Take) -> None:
        self._take = take
        self._changed = threading.Condition()
        self._lent = False
        self._closed = False
        self._busy = 0
        self._slots = tuple(slots)
        self._threads = [threading.Thread(target=self._work, args=(slot,), daemon=True) for slot in slots]
        for thread in self._threads:
            thread.start()

    @contextlib.contextmanager
    def lent(self) -> Iterator[None]:
        """The cores are borrowed within this context. Leaving it waits until nothing compiles there."""
        with self._changed:
            self._lent = True
            self._changed.notify_all()
        try:
            yield
        except BaseException:
            with self._changed:  # whoever is stopped waits for nothing
                self._lent = False
            raise
        with self._changed:
            self._lent = False
            self._changed.wait_for(lambda: self._busy == 0)

    def there_is_more(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for slot in self._slots:
            slot.shut()
        for thread in self._threads:
            thread.join()

    def _work(self, slot: Slot) -> None:
        try:
            while (task := self._next()) is not None:
                try:
                    task(slot)
                finally:
                    with self._changed:
                        self._busy -= 1
                        self._changed.notify_all()
        finally:
            slot.close()

    def _next(self) -> Callable[[Slot], None] | None:
        """None when the loan is over. Taken under the lock, so that nothing is taken once the cores are returned."""
        with self._changed:
            while not self._closed:
                task = None
                if self._lent:
                    with contextlib.suppress(queue.Empty):
                        task = self._take()
                if task is not None:
                    self._busy += 1
                    return task
                self._changed.wait()
            return None
