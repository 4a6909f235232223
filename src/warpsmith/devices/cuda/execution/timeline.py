"""Time of a single warp, from the compiler's stall counts and barriers in each instruction, and from latencies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from warpsmith.devices.cuda.execution.code import Issue
from warpsmith.devices.cuda.execution.kinds import Pipe
from warpsmith.devices.cuda.execution.tally import Column, Tally

_BARRIERS = 6
_READ = 12  # cycles until an access to memory has read its registers


@dataclass(frozen=True, slots=True)
class Latencies:
    """In cycles, from an instruction to its result: from L1, L2, shared memory; others."""

    first_cache: float
    second_cache: float
    shared: float
    other: float = 22.0


class Timeline:
    """`time` is when the warp may issue next; it advances as the warp executes instructions."""

    def __init__(self, issues: Sequence[Issue], pipes: Sequence[Pipe], latencies: Latencies) -> None:
        self.time = 0.0
        self._issues = issues
        self._pipes = pipes
        self._latencies = latencies
        self._release = [0.0] * _BARRIERS
        self._waits = [[b for b in range(_BARRIERS) if issue.waits >> b & 1] for issue in issues]

    def reset(self) -> None:
        self.time = 0.0
        self._release = [0.0] * _BARRIERS

    def passed(self, first: int, last: int, tally: Tally) -> None:
        time, release, issues, waits = self.time, self._release, self._issues, self._waits
        for place in range(first, last + 1):
            for barrier in waits[place]:
                time = max(time, release[barrier])
            issue = issues[place]
            if issue.sets_result is not None:
                release[issue.sets_result] = max(release[issue.sets_result], time + self._latency(place, tally))
            if issue.sets_read is not None:
                release[issue.sets_read] = max(release[issue.sets_read], time + _READ)
            time += issue.stall or 1
        self.time = time

    def advance(self, cycles: float) -> None:
        self.time += cycles
        self._release = [when + cycles for when in self._release]

    def _latency(self, place: int, tally: Tally) -> float:
        if self._pipes[place] is not Pipe.LSU:
            return self._latencies.other
        row = tally.rows[place]
        requests = row[Column.REQUESTS]
        if not requests or not row[Column.LINES]:
            return self._latencies.shared + (float(row[Column.SECTORS] / requests) if requests else 0.0)
        missed = min(1.0, float(row[Column.MISSED] / requests))
        return self._latencies.first_cache + missed * (self._latencies.second_cache - self._latencies.first_cache)
