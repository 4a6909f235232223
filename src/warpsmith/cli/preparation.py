"""Progress of the preparation before the first evaluation, with the duration of each step."""

from __future__ import annotations

import time

_SHOWN_S = 0.05


class Preparation:
    def __init__(self) -> None:
        self._steps: list[tuple[str, float]] = []

    def begin(self, what: str) -> None:
        self._steps.append((what, time.perf_counter()))

    def next(self, what: str) -> None:
        """As `begin`, where something was begun."""
        if self._steps:
            self.begin(what)

    def end(self) -> str:
        """`in 4.1 s: device 0.9 s, inputs 0.3 s, original timed 1.5 s, …`; nothing where there is nothing to say."""
        if not self._steps:
            return ""
        now = time.perf_counter()
        ends = [*(began for _, began in self._steps[1:]), now]
        took = [
            f"{what} {end - began:.1f} s" for (what, began), end in zip(self._steps, ends, strict=True) if end - began >= _SHOWN_S
        ]
        whole_s = now - self._steps[0][1]
        self._steps.clear()
        return f"in {whole_s:.1f} s" + (f": {', '.join(took)}" if took else "")
