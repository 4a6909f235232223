"""The probability that a configuration does not fail: a distance-weighted share of successes.

Failures have regions (too many registers, an unsupported shape) but no slope to model; a smoothed count finds the regions from
the first few of them and never rules anything out for good.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from warpsmith.core.arrays import Array
from warpsmith.search.gp.candidates import Candidates

_SHARPNESS = 6.0
_OPTIMISM = 3.0  # as if so many like it had succeeded


class Feasibility:
    def __init__(self, tables: Sequence[Array]) -> None:
        self._tables = [(_SHARPNESS * table / max(float(table.max()), 1e-12)).astype(np.float32) for table in tables]
        self._rows: list[Array] = []
        self._succeeded: list[bool] = []
        self._candidates: Candidates | None = None
        self._counted = 0
        self._good = np.zeros(0)
        self._all = np.zeros(0)

    def add(self, row: Array, succeeded: bool) -> None:
        self._rows.append(row)
        self._succeeded.append(succeeded)

    def chance(self, candidates: Candidates) -> Array | float:
        """For each candidate; 1 for all while nothing has failed."""
        if all(self._succeeded):
            return 1.0
        if candidates is not self._candidates:
            self._candidates, self._counted = candidates, 0
            self._good = np.full(len(candidates), _OPTIMISM)
            self._all = self._good.copy()
        new, succeeded = np.array(self._rows[self._counted :]), np.array(self._succeeded[self._counted :], dtype=bool)
        for part, distance in candidates.summed(self._tables, new):
            likeness = np.exp(-distance)
            self._all += likeness.sum(axis=0)
            self._good += likeness[succeeded[part]].sum(axis=0)
        self._counted = len(self._rows)
        chance: Array = self._good / self._all
        return chance
