"""`Model`: from results to predictions. Owns when it is fitted anew, which points it holds, and on what scale times are.

What is modelled is how far results are from what was expected of them: by their sizes, and by forecasts from earlier runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from warpsmith.core.arrays import Array
from warpsmith.search.gp.candidates import Candidates
from warpsmith.search.gp.columns import Columns
from warpsmith.search.gp.contexts import POINTS_AT_MOST
from warpsmith.search.gp.forecasts import Forecasts
from warpsmith.search.gp.hyper import Fit, Hyper
from warpsmith.search.gp.observations import Observations
from warpsmith.search.gp.posterior import Posterior
from warpsmith.search.gp.targets import modelled

_REFIT_GROWTH = 1.2
_REFIT_AFTER_AT_MOST = 50
# How slow is slow is seen from the times there are. Those of sources stand in at first: so many fewer for each result.
_REPLACED_PER_RESULT = 4
# A prediction costs by the points held, a fit by the cube of those fitted: the best and a sample of the rest stand for all.
_HELD_AT_MOST = 400
_FITTED_AT_MOST = 200
# Until so many results of its own are there, a run's level is taken from configurations that a source measured as well.
_ALIGNED_BELOW = 20


@dataclass(frozen=True, slots=True)
class Predictions:
    """For each candidate, in units of the model: smaller is faster. `best` is the best result so far, None before the first.

    `noise` is how far results as a rule lie beside the truth: what is better by less is not known to be better.
    """

    mean: Array
    deviation: Array
    best: float | None
    noise: float = 0.0


class Model:
    def __init__(self, columns: Columns, forecasts: Forecasts, rng: np.random.Generator) -> None:
        self._columns = columns
        self._forecasts = forecasts
        self._rng = rng
        self._fit = Fit(columns.tables)
        self._hyper: Hyper | None = None
        self._fit_at = 0
        self._posterior: Posterior | None = None
        self._candidates: Candidates | None = None
        self._expected_of_candidates = np.zeros(0)
        self._shared_by_candidates = np.zeros((0, 0))
        self._forecast_of: dict[int, Array] = {}  # of this run's points, by number
        self._held: list[int] = []  # by number, in the posterior's order
        self._places = np.zeros(0, dtype=np.intp)
        self._considered: set[int] = set()
        self._considered_until = 0  # of the results
        self._looked_up_until = 0

    def predict(self, candidates: Candidates, results: Observations, outstanding: Mapping[int, Array]) -> Predictions:
        """`outstanding`: encoded configurations, by number, that await results; they count as if these came as expected."""
        rows = _Rows(results, outstanding)
        self._look_up([*results.numbers[self._looked_up_until :], *outstanding], rows)
        self._looked_up_until = len(results)
        targets, variances, stretch = self._targets(results)
        surprises = targets - self._expected(results)
        if self._hyper is None or len(results) >= self._fit_at:
            self._refit(rows, results.numbers, targets, surprises, variances)
        if candidates is not self._candidates:
            self._turn_to(candidates)
        spread = _Of(results, variances, 0.0)
        if self._posterior is None:
            assert self._hyper is not None
            self._posterior = Posterior(candidates, self._columns.tables, self._hyper, self._shared_by_candidates)
            numbers = results.numbers
            self._held, self._places = [], np.zeros(0, dtype=np.intp)
            self._hold([numbers[at] for at in self._representative(targets, _HELD_AT_MOST)], rows, spread)
            self._considered, self._considered_until = set(numbers), len(numbers)
        waiting = dict.fromkeys([*results.numbers[self._considered_until :], *outstanding])
        new = [number for number in waiting if number not in self._considered]
        self._hold(new, rows, spread)
        self._considered.update(new)
        self._considered_until = len(results)
        places = self._places_held(results)
        mean, deviation = self._posterior.predict(
            np.where(places >= 0, surprises[places], np.nan) if len(results) else places + np.nan
        )
        mean += self._expected_of_candidates
        if not results:
            return Predictions(mean, deviation, None)
        # Of the faster half: slow ones are measured less well, and nobody wants to be better than they are.
        fast = np.argsort(targets, kind="stable")[: (len(targets) + 1) // 2]
        noise = stretch * float(np.median(results.variances[fast])) ** 0.5
        return Predictions(mean, deviation, float(targets.min()), noise)

    def _places_held(self, results: Observations) -> Array:
        """Where the posterior's points are among the results; -1 for what is awaited."""
        fresh = [self._place(results, number) for number in self._held[len(self._places) :]]
        self._places = np.concatenate([self._places, np.array(fresh, dtype=np.intp)])
        for at in np.flatnonzero(self._places < 0):
            self._places[at] = self._place(results, self._held[at])
        return self._places

    @staticmethod
    def _place(results: Observations, number: int) -> int:
        place = results.place(number)
        return -1 if place is None else place

    def _look_up(self, numbers: Sequence[int], rows: _Rows) -> None:
        if not len(self._forecasts):
            return
        new = [number for number in dict.fromkeys(numbers) if number not in self._forecast_of]
        if new:
            found = self._forecasts.of(np.array([rows[number] for number in new]))
            self._forecast_of.update(zip(new, found, strict=True))

    def _forecast(self, numbers: Sequence[int]) -> Array:
        if not len(self._forecasts):
            return np.zeros((len(numbers), 0))
        found = np.array([self._forecast_of[number] for number in numbers])
        return found.reshape(len(numbers), len(self._forecasts))

    def _expected(self, results: Observations) -> Array:
        expected: Array = results.expected + self._forecasts.expected(self._forecast(results.numbers))
        return expected

    def _targets(self, results: Observations) -> tuple[Array, Array, float]:
        """Of the results, and their variances on the same scale; and how long a step from the best is on it."""
        kept = max(POINTS_AT_MOST - _REPLACED_PER_RESULT * len(results), 0)
        elsewhere = np.concatenate([np.zeros(0), *(forecast.context.above[:kept] for forecast in self._forecasts)])
        above = np.concatenate([elsewhere, results.logs - self._level(results)])
        targets, spread, stretch = modelled(above, np.concatenate([np.zeros(len(elsewhere)), results.variances]))
        return targets[len(elsewhere) :], spread[len(elsewhere) :], stretch

    def _level(self, results: Observations) -> float:
        """The log time that counts as the best: of this run, or lower if a source says that better ones are still to come."""
        best = float(results.logs.min()) if results else 0.0
        if len(results) >= _ALIGNED_BELOW:
            return best
        gaps = [
            result.log - above
            for context in (forecast.context for forecast in self._forecasts)
            for result in results.values()
            for above in context.above[np.all(context.rows == result.row, axis=1)]
        ]
        return min(best, float(np.median(gaps))) if gaps else best

    def _refit(self, rows: _Rows, numbers: Sequence[int], targets: Array, surprises: Array, variances: Array) -> None:
        kept = self._representative(targets, _FITTED_AT_MOST)
        chosen = [numbers[at] for at in kept]
        shared = self._forecasts.shared(self._forecast(chosen))
        self._hyper = self._fit(_stacked(rows, chosen), surprises[kept], variances[kept], self._hyper, shared)
        growth = round(len(numbers) * (_REFIT_GROWTH - 1))
        self._fit_at = len(numbers) + min(max(growth, 1), _REFIT_AFTER_AT_MOST)
        self._posterior = None

    def _turn_to(self, candidates: Candidates) -> None:
        self._candidates = candidates
        forecasts = self._forecasts.of_candidates(candidates)
        self._expected_of_candidates = self._columns.expected(candidates.rows) + self._forecasts.expected(forecasts)
        self._shared_by_candidates = self._forecasts.shared(forecasts)
        self._posterior = None

    def _hold(self, numbers: Sequence[int], rows: _Rows, spread: _Of) -> None:
        """Further points for the posterior; what is awaited has no spread."""
        if numbers:
            assert self._posterior is not None
            variances = np.array([spread(number) for number in numbers])
            shared = self._forecasts.shared(self._forecast(numbers))
            self._posterior.add(_stacked(rows, numbers), variances, shared)
            self._held += numbers

    def _representative(self, targets: Array, most: int) -> list[int]:
        """All places, or the best half of `most` and a sample of the others, in their order."""
        if len(targets) <= most:
            return list(range(len(targets)))
        order = np.argsort(targets, kind="stable")
        others = self._rng.choice(order[most // 2 :], size=most - most // 2, replace=False)
        return sorted(int(i) for i in (*order[: most // 2], *others))


@dataclass(frozen=True, slots=True)
class _Rows:
    """Of what was measured or is awaited, by number."""

    results: Observations
    outstanding: Mapping[int, Array]

    def __getitem__(self, number: int) -> Array:
        awaited = self.outstanding.get(number)
        return awaited if awaited is not None else self.results[number].row


@dataclass(frozen=True, slots=True)
class _Of:
    """A figure of each result, by number; what is awaited has another."""

    results: Observations
    figures: Array
    otherwise: float

    def __call__(self, number: int) -> float:
        place = self.results.place(number)
        return self.otherwise if place is None else float(self.figures[place])


def _stacked(rows: _Rows, numbers: Sequence[int]) -> Array:
    return np.array([rows[number] for number in numbers], dtype=np.int32)
