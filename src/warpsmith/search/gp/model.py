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
class Result:
    """One measured configuration: what the model sees of it, its log time, its variance, and how much slower it was expected."""

    row: Array
    log: float
    variance: float = 0.0
    expected: float = 0.0


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
        self._considered: set[int] = set()

    def predict(self, candidates: Candidates, results: Mapping[int, Result], outstanding: Mapping[int, Array]) -> Predictions:
        """`outstanding`: encoded configurations, by number, that await results; they count as if these came as expected."""
        rows = {**{number: result.row for number, result in results.items()}, **outstanding}
        self._look_up(rows)
        targets, variances, stretch = self._targets(results)
        surprises = targets - self._expected(results)
        if self._hyper is None or len(results) >= self._fit_at:
            self._refit(rows, list(results), targets, surprises, variances)
        if candidates is not self._candidates:
            self._turn_to(candidates)
        spread = dict(zip(results, variances, strict=True))
        if self._posterior is None:
            assert self._hyper is not None
            self._posterior = Posterior(candidates, self._columns.tables, self._hyper, self._shared_by_candidates)
            numbers = list(results)
            self._held = []
            self._hold([numbers[at] for at in self._representative(targets, _HELD_AT_MOST)], rows, spread)
            self._considered = set(numbers)
        new = [number for number in rows if number not in self._considered]
        self._hold(new, rows, spread)
        self._considered.update(new)
        known = dict(zip(results, surprises, strict=True))
        mean, deviation = self._posterior.predict(np.array([known.get(number, np.nan) for number in self._held]))
        mean += self._expected_of_candidates
        if not results:
            return Predictions(mean, deviation, None)
        # Of the faster half: slow ones are measured less well, and nobody wants to be better than they are.
        fast = np.argsort(targets, kind="stable")[: (len(targets) + 1) // 2]
        noise = stretch * float(np.median(np.array([result.variance for result in results.values()])[fast])) ** 0.5
        return Predictions(mean, deviation, float(targets.min()), noise)

    def _look_up(self, rows: Mapping[int, Array]) -> None:
        new = [number for number in rows if number not in self._forecast_of]
        if new:
            found = self._forecasts.of(np.array([rows[number] for number in new]))
            self._forecast_of.update(zip(new, found, strict=True))

    def _forecast(self, numbers: Sequence[int]) -> Array:
        found = np.array([self._forecast_of[number] for number in numbers])
        return found.reshape(len(numbers), len(self._forecasts))

    def _expected(self, results: Mapping[int, Result]) -> Array:
        by_size = np.array([result.expected for result in results.values()])
        return by_size + self._forecasts.expected(self._forecast(list(results)))

    def _targets(self, results: Mapping[int, Result]) -> tuple[Array, Array, float]:
        """Of the results, and their variances on the same scale; and how long a step from the best is on it."""
        kept = max(POINTS_AT_MOST - _REPLACED_PER_RESULT * len(results), 0)
        elsewhere = np.concatenate([np.zeros(0), *(forecast.context.above[:kept] for forecast in self._forecasts)])
        logs = np.array([result.log for result in results.values()])
        variances = np.array([result.variance for result in results.values()])
        above = np.concatenate([elsewhere, logs - self._level(results)])
        targets, spread, stretch = modelled(above, np.concatenate([np.zeros(len(elsewhere)), variances]))
        return targets[len(elsewhere) :], spread[len(elsewhere) :], stretch

    def _level(self, results: Mapping[int, Result]) -> float:
        """The log time that counts as the best: of this run, or lower if a source says that better ones are still to come."""
        best = min((result.log for result in results.values()), default=0.0)
        if len(results) >= _ALIGNED_BELOW:
            return best
        gaps = [
            result.log - above
            for context in (forecast.context for forecast in self._forecasts)
            for result in results.values()
            for above in context.above[np.all(context.rows == result.row, axis=1)]
        ]
        return min(best, float(np.median(gaps))) if gaps else best

    def _refit(
        self, rows: Mapping[int, Array], numbers: Sequence[int], targets: Array, surprises: Array, variances: Array
    ) -> None:
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

    def _hold(self, numbers: Sequence[int], rows: Mapping[int, Array], spread: Mapping[int, float]) -> None:
        """Further points for the posterior; what is awaited has no spread."""
        if numbers:
            assert self._posterior is not None
            variances = np.array([spread.get(number, 0.0) for number in numbers])
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


def _stacked(rows: Mapping[int, Array], numbers: Sequence[int]) -> Array:
    return np.array([rows[number] for number in numbers], dtype=np.int32)
