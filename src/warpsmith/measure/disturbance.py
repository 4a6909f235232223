"""Share of the measured cores that other programs used: from /proc, so None where there is none."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from warpsmith.measure.policy import SHORTEST_SHARE_S


class Disturbance:
    """Counts from construction to `others()`. `ours` are the processes that do not count as a disturbance."""

    def __init__(self, cores: frozenset[int] | None, ours: Iterable[int]) -> None:
        self._cores = cores or frozenset(range(os.cpu_count() or 1))
        self._ours = (os.getpid(), *ours)
        self._before = self._read()

    def others(self) -> float | None:
        """Share of the cores' time used by others, 0 to 1."""
        before, after = self._before, self._read()
        if before is None or after is None:
            return None
        busy, own, total = (new - old for new, old in zip(after, before, strict=True))
        if total < SHORTEST_SHARE_S * len(self._cores) * os.sysconf("SC_CLK_TCK"):
            return None
        return min(1.0, max(0.0, (busy - own) / total))

    def _read(self) -> tuple[int, int, int] | None:
        try:
            lines = Path("/proc/stat").read_text().splitlines()
            own = sum(_ticks_of(pid) for pid in self._ours)
        except OSError:
            return None
        busy = total = 0
        for line in lines:
            name, _, rest = line.partition(" ")
            if name.startswith("cpu") and name[3:].isdigit() and int(name[3:]) in self._cores:
                user, nice, system, idle, iowait, irq, softirq, steal = map(int, rest.split()[:8])
                busy += user + nice + system + irq + softirq + steal
                total += user + nice + system + idle + iowait + irq + softirq + steal
        return busy, own, total


def _ticks_of(pid: int) -> int:
    # The command's name may hold spaces and parentheses: fields are counted after the last one.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])
