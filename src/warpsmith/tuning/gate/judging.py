"""Tests for slowdowns: Welch's test on fresh processes, then and now, with Holm's correction over all comparisons of one
gate. Pure.

Processes are the units, as for claims: they differ by more than repetitions within one. The correction keeps the chance of *any*
false alarm of a gate below its level, however many winners it has.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from warpsmith.measure.policy import FALSE_ALARMS, FOUND

_FEWEST = 2


@dataclass(frozen=True, slots=True)
class SpeedChange:
    """`slowdown` is relative (0.05: takes 5 % longer), with its 95 % interval; `p` is that of no slowdown."""

    slowdown: float
    low: float
    high: float
    p: float
    standard_error: float  # of the slowdown's log
    freedom: float

    def smallest(self, level: float = FALSE_ALARMS) -> float:
        """The smallest slowdown that is found nine times in ten at this level, with this noise."""
        from scipy.special import stdtrit  # noqa: PLC0415 - slow to load

        quantiles = float(stdtrit(self.freedom, 1 - level)) + float(stdtrit(self.freedom, FOUND))
        return math.expm1(quantiles * self.standard_error)


def change(before: Sequence[float] | None, now: Sequence[float]) -> SpeedChange | None:
    """From logs of speeds, one of each process; `before` None: against a speedup of 1. None where there are too few."""
    from scipy.special import stdtr, stdtrit  # noqa: PLC0415 - slow to load

    if len(now) < _FEWEST or (before is not None and len(before) < _FEWEST):
        return None
    parts = [float(np.var(some, ddof=1)) / len(some) for some in (now, before) if some is not None]
    counts = [len(some) for some in (now, before) if some is not None]
    variance = sum(parts)
    slower = (float(np.mean(before)) if before is not None else 0.0) - float(np.mean(now))
    if variance == 0:  # the same code: nothing differs
        return SpeedChange(math.expm1(slower), math.expm1(slower), math.expm1(slower), float(slower <= 0), 0.0, 1.0)
    error = math.sqrt(variance)
    freedom = variance**2 / sum(part**2 / (count - 1) for part, count in zip(parts, counts, strict=True))
    wide = float(stdtrit(freedom, 0.975)) * error
    p = float(stdtr(freedom, -slower / error))
    return SpeedChange(math.expm1(slower), math.expm1(slower - wide), math.expm1(slower + wide), p, error, freedom)


def suspects(changes: Mapping[str, SpeedChange], tolerance: float, level: float = FALSE_ALARMS) -> set[str]:
    """Those that are slower by more than the tolerance, and not by chance: by Holm's procedure over all of them."""
    found = set()
    ranked = sorted(changes, key=lambda name: changes[name].p)
    for rank, name in enumerate(ranked):
        if changes[name].p > level / (len(ranked) - rank):
            break
        if changes[name].slowdown > tolerance:
            found.add(name)
    return found
