"""Uniformly random configurations without repetition, the default first: the baseline that a cleverer strategy has to beat."""

from __future__ import annotations

from warpsmith.search.stepwise import Stepwise


class Random(Stepwise):
    def _propose(self) -> int | None:
        return self._visits.random()
