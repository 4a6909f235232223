"""Compiler reports of configurations that have not run, as part of the acquisition function.

Gathers and scatters of a CPU's vector code, spills of a GPU's: work that the source does not ask for. Over the bundled kernels
their number goes with the time (rank correlations of 0.4 to 0.8), and whichever parameters bring it about, the compiler tells for
sure where the model could only guess. So of the few most promising configurations the burdened ones lose. By how much is fitted
to the results there are, from a first guess that holds for every kernel; a burden that does no harm is soon forgiven.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import log1p

import numpy as np

from warpsmith.core.arrays import Array
from warpsmith.core.hardware import Resources

# Log time for each unit of burden: the first guess, and how many results (of one unit apart) it weighs.
_SLOPE = 0.3
_SLOPE_WEIGHT = 4.0


def burden_of(used: Resources | None) -> float:
    """0 where there is none, or the device does not tell; infinite for what did not compile."""
    if used is None:
        return float("inf")
    return sum(log1p(count or 0) for count in (used.gathers, used.scatters, used.spill_bytes))


class Foresight:
    """By the space's numbers."""

    def __init__(self) -> None:
        self._burdens: dict[int, float] = {}
        self._counts: Counter[float] = Counter()

    def add(self, number: int, used: Resources | None) -> None:
        before = self._burdens.get(number)
        if before is not None:
            self._counts[before] -= 1
            self._counts += Counter()  # without those that none has any more
        burden = self._burdens[number] = burden_of(used)
        self._counts[burden] += 1

    def __contains__(self, number: int) -> bool:
        return number in self._burdens

    @property
    def tells(self) -> bool:
        """Whether what was compiled so far differs: else there is nothing to choose by, and no reason to compile more."""
        return len(self._counts) > 1

    def lightest(self, numbers: Sequence[int], count: int) -> list[int]:
        """So many of them, in the order of their burdens; equal ones in their own."""
        return sorted(numbers, key=lambda number: self._burdens.get(number, float("inf")))[:count]

    def chosen(self, numbers: Sequence[int], promise: Array, logs: Mapping[int, float]) -> int:
        """The place of the best of these numbers, by promise and burden; `logs` are the log times of results.

        What was not compiled stands back, unless nothing was.
        """
        known = [place for place, number in enumerate(numbers) if number in self._burdens]
        if not known:
            return int(np.argmax(promise))
        burdens = np.array([self._burdens[numbers[place]] for place in known])
        least = float(burdens.min())
        if not np.isfinite(least):
            return known[0]
        excess = np.where(np.isfinite(burdens), burdens - least, 0.0)
        weighed = np.where(np.isfinite(burdens), promise[known] * np.exp(-self._slope(logs) * excess), -1.0)
        return known[int(np.argmax(weighed))]

    def _slope(self, logs: Mapping[int, float]) -> float:
        """Least squares, drawn towards the first guess, and never a reward."""
        told = [(self._burdens[number], log) for number, log in logs.items() if number in self._burdens]
        if not told:
            return _SLOPE
        burdens, times = np.array(told).T
        burdens -= burdens.mean()
        slope = (burdens @ (times - times.mean()) + _SLOPE_WEIGHT * _SLOPE) / (burdens @ burdens + _SLOPE_WEIGHT)
        return max(float(slope), 0.0)
