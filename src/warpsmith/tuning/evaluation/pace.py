"""Detects slow devices by the duration of their evaluations."""

from __future__ import annotations

import statistics
import threading
from collections import deque

_LATEST = 15  # evaluations of a device: configurations differ by several times, so a few say nothing
_FEWEST = 8
_SLOW = 3.0  # times as long as on the middle one: more than the choice of configurations explains


class Pace:
    """Told from any thread."""

    def __init__(self) -> None:
        self._latest: dict[str, deque[float]] = {}
        self._known_slow: set[str] = set()
        self._lock = threading.Lock()

    def took(self, device: str, seconds: float) -> float | None:
        """How many times as long as on the middle one it takes there, when that is seen for the first time; else None."""
        with self._lock:
            own = self._latest.setdefault(device, deque(maxlen=_LATEST))
            own.append(seconds)
            others = [
                statistics.median(found) for name, found in self._latest.items() if name != device and len(found) >= _FEWEST
            ]
            if len(own) < _FEWEST or len(others) < 2:  # of two, which is it?
                return None
            times = statistics.median(own) / max(statistics.median(others), 1e-9)
            if times < _SLOW:
                self._known_slow.discard(device)  # it may become slow again
                return None
            if device in self._known_slow:
                return None
            self._known_slow.add(device)
            return times
