"""Counts by instruction, one row each."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float64]


class Column(IntEnum):
    """Columns of an instruction. For shared memory SECTORS are wavefronts."""

    WARPS = 0
    THREADS = 1
    ACTIVE = 2  # threads whose guard held
    REQUESTS = 3
    SECTORS = 4
    LINES = 5
    MISSED = 6  # sectors that the first cache does not have
    FIRST = 7  # sectors that nobody of the block touched before
    WRITTEN = 8  # wavefronts of shared memory, of a copy that goes there


@dataclass(slots=True)
class Tally:
    """`cycles` is a single warp's time."""

    rows: Rows
    cycles: float = 0.0

    @classmethod
    def empty(cls, instructions: int) -> Tally:
        return cls(np.zeros((instructions, len(Column))))

    def executed(self, first: int, last: int, warps: int, threads: int) -> None:
        self.rows[first : last + 1, :3] += (warps, threads, threads)

    def idle(self, place: int, threads: int) -> None:
        """Of those that `executed` recorded: the instruction was reached, but its guard did not hold."""
        self.rows[place, Column.ACTIVE] -= threads

    def accessed(self, place: int, requests: int, sectors: int, lines: int, missed: int, first: int) -> None:
        self.rows[place, 3:8] += (requests, sectors, lines, missed, first)
