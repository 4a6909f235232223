"""Forecasts from earlier runs of the same kernel: one model per run, fitted once.

The model of the run at hand takes a share of a forecast as given and learns from its results how large that share is, and how far
the forecast is off in each place. So a source costs no more than a look-up once it is fitted, and one that misleads is found out
like any other wrong expectation. One without any rule in it is found out before: its model does not predict its own results.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from warpsmith.core.arrays import Array
from warpsmith.search.gp.candidates import Candidates
from warpsmith.search.gp.columns import Columns
from warpsmith.search.gp.contexts import Context
from warpsmith.search.gp.hyper import Fit
from warpsmith.search.gp.kernel import covariance, matern
from warpsmith.search.gp.targets import modelled

# Before there are results: how much of a forecast comes true, and how sure that is. All sources together.
_SHARE = 0.8
_SHARE_DEVIATION = 0.4
# How far this run's level may be from where the sources put it.
_LEVEL_DEVIATION = 0.5
# Where there are so many results, predicting each from the others has to go with what was measured: by 0.8 and more in records of
# real searches or samples, by less than 0.45 in the same with their times shuffled.
_JUDGED_FROM = 50
_CORRELATION = 0.6


class Forecasts:
    """Of all sources; in deviations of the results, beyond what is expected anyway (`Columns.expected`)."""

    def __init__(self, each: Sequence[Forecast]) -> None:
        self._each = tuple(each)
        self._candidates: Candidates | None = None
        self._of_candidates = np.zeros((0, 0))

    def __len__(self) -> int:
        return len(self._each)

    def __iter__(self) -> Iterator[Forecast]:
        return iter(self._each)

    def of(self, rows: Array) -> Array:
        """A row for each of the encoded configurations, a column for each source."""
        return np.array([forecast.of(rows) for forecast in self._each]).reshape(len(self._each), len(rows)).T

    def of_candidates(self, candidates: Candidates) -> Array:
        """Kept until others are asked for: several models ask for the same."""
        if candidates is not self._candidates:
            found = [forecast.of_candidates(candidates) for forecast in self._each]
            self._of_candidates = np.array(found).reshape(len(self._each), len(candidates)).T
            self._candidates = candidates
        return self._of_candidates

    def expected(self, forecasts: Array) -> Array:
        """What the forecasts of configurations come to, as far as they are believed at first."""
        expected: Array = _SHARE / max(len(self._each), 1) * forecasts.sum(axis=1)
        return expected

    def shared(self, forecasts: Array) -> Array:
        """What configurations have in common by them: the products of these rows are covariances, of all that may be off at once.

        A column for the level, and one for each source's share. None without sources.
        """
        if not self._each:
            return forecasts
        return np.column_stack([np.full(len(forecasts), _LEVEL_DEVIATION), _SHARE_DEVIATION * forecasts])


class Forecast:
    """One source's. `tells`: whether it predicts its own results; of few, nobody can say that it does not."""

    def __init__(self, columns: Columns, context: Context) -> None:
        self.context = context
        count = len(context.rows)
        targets = modelled(context.above, np.zeros(count))[0] - columns.expected(context.rows)
        hyper = Fit(columns.tables)(context.rows, targets, np.zeros(count), None)
        self._rows = context.rows
        self._weighted = [weight * table for weight, table in zip(hyper.weights, columns.tables, strict=True)]
        self._signal = hyper.signal
        factor = cho_factor(self._covariance(self._rows) + hyper.noise * np.eye(count), lower=True)
        self._solved = cho_solve(factor, targets)
        predicted = targets - self._solved / np.diag(cho_solve(factor, np.eye(count)))  # each from the others, without refitting
        self.tells = count < _JUDGED_FROM or _go_together(predicted, targets)

    def of(self, rows: Array) -> Array:
        found: Array = self._covariance(rows) @ self._solved
        return found

    def of_candidates(self, candidates: Candidates) -> Array:
        """The same for very many: by the candidates' own look-up."""
        total = np.zeros(len(candidates), dtype=np.float32)
        weights = (self._signal * self._solved).astype(np.float32)
        for part, squared in candidates.summed([table.astype(np.float32) for table in self._weighted], self._rows):
            total += weights[part] @ matern(squared)
        return total.astype(np.float64)

    def _covariance(self, rows: Array) -> Array:
        return covariance(self._weighted, self._signal, rows, self._rows)


def _go_together(these: Array, those: Array) -> bool:
    """True where nothing varies, too: then nothing is wrong."""
    these, those = these - these.mean(), those - those.mean()
    return bool(these @ those >= _CORRELATION * np.linalg.norm(these) * np.linalg.norm(those))
