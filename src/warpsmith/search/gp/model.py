"""`Model`: from results to predictions. Owns when it is fitted anew, which points it holds, and how sources are aligned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from warpsmith.search.gp.candidates import Candidates
from warpsmith.search.gp.columns import Columns
from warpsmith.search.gp.contexts import POINTS_AT_MOST, WEIGHT, Context
from warpsmith.search.gp.hyper import Fit, Hyper, Weight
from warpsmith.search.gp.posterior import Posterior
from warpsmith.search.gp.targets import modelled

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

_REFIT_GROWTH = 1.2
_REFIT_AFTER_AT_MOST = 50
_REFIT_AFTER_WITH_SOURCES = 3
# Each result of its own lets a run do without so many of its sources' points: what is misleading about them cannot last.
_FORGOTTEN_PER_RESULT = 4
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
    def __init__(self, columns: Columns, contexts: Sequence[Context], rng: np.random.Generator) -> None:
        self._columns = columns
        self._contexts = tuple(contexts)
        self._rng = rng
        origin = [1.0 - np.eye(1 + len(contexts))] if contexts else []
        self._tables = [*columns.tables, *origin]
        self._fit = Fit(self._tables, [*(Weight() for _ in columns.tables), *(WEIGHT for _ in origin)])
        self._hyper: Hyper | None = None
        self._fit_at = 0
        self._posterior: Posterior | None = None
        self._candidates: Candidates | None = None
        self._expected_of_candidates = np.zeros(0)
        self._held: list[int] = []  # this run's points, by number, in the posterior's order: after those of the contexts
        self._considered: set[int] = set()
        self._kept = POINTS_AT_MOST  # of each context
        self._source_rows = self._rows([])
        self._source_expected = np.zeros(0)

    def predict(self, candidates: Candidates, results: Mapping[int, Result], outstanding: Mapping[int, Array]) -> Predictions:
        """`outstanding`: encoded configurations, by number, that await results; they count as if these came as expected."""
        due = self._hyper is None or len(results) >= self._fit_at
        if due:
            self._forget(len(results))
        sources = len(self._source_rows)
        targets, variances, stretch = self._targets(results)
        surprises = targets - np.concatenate([self._source_expected, [result.expected for result in results.values()]])
        if due:
            self._refit(results, targets, surprises, variances)
        if self._posterior is None or candidates is not self._candidates:
            self._rebuild(candidates, results, targets[sources:], variances)
        assert self._posterior is not None
        new = [number for number in (*results, *outstanding) if number not in self._considered]
        variance = dict(zip(results, variances[sources:], strict=True))
        added = self._rows([(results[n].row if n in results else outstanding[n], 0) for n in new])
        self._posterior.add(added, np.array([variance.get(n, 0.0) for n in new]))
        self._held += new
        self._considered.update(new)
        known = dict(zip(results, surprises[sources:], strict=True))
        mean, deviation = self._posterior.predict(np.array([*surprises[:sources], *(known.get(n, np.nan) for n in self._held)]))
        mean += self._expected_of_candidates
        if not results:
            return Predictions(mean, deviation, None)
        noise = stretch * float(np.median([result.variance for result in results.values()])) ** 0.5
        return Predictions(mean, deviation, float(targets[sources:].min()), noise)

    def _forget(self, results: int) -> None:
        self._kept = max(POINTS_AT_MOST - _FORGOTTEN_PER_RESULT * results, 0)
        contexts = enumerate(self._contexts, start=1)
        self._source_rows = self._rows([(row, origin) for origin, context in contexts for row in context.rows[: self._kept]])
        self._source_expected = self._columns.expected(self._source_rows)

    def _targets(self, results: Mapping[int, Result]) -> tuple[Array, Array, float]:
        """Of the contexts' points, then of the results, on one scale; and how long a step from the best is on it."""
        logs = np.array([result.log for result in results.values()])
        above = np.concatenate([*(context.above[: self._kept] for context in self._contexts), logs - self._level(results)])
        variances = np.concatenate([np.zeros(len(self._source_rows)), [result.variance for result in results.values()]])
        return modelled(above, variances)

    def _level(self, results: Mapping[int, Result]) -> float:
        """The log time that counts as the best: of this run, or lower if a source says that better ones are still to come."""
        best = min((result.log for result in results.values()), default=0.0)
        if len(results) >= _ALIGNED_BELOW:
            return best
        gaps = [
            result.log - above
            for context in self._contexts
            for result in results.values()
            for above in context.above[np.all(context.rows == result.row, axis=1)]
        ]
        return min(best, float(np.median(gaps))) if gaps else best

    def _refit(self, results: Mapping[int, Result], targets: Array, surprises: Array, variances: Array) -> None:
        rows = np.concatenate([self._source_rows, self._rows([(result.row, 0) for result in results.values()])])
        kept = self._representative(targets, _FITTED_AT_MOST)
        self._hyper = self._fit(rows[kept], surprises[kept], variances[kept], self._hyper)
        growth = round(len(results) * (_REFIT_GROWTH - 1))
        least = _REFIT_AFTER_WITH_SOURCES if len(self._source_rows) else 1
        self._fit_at = len(results) + min(max(growth, least), _REFIT_AFTER_AT_MOST)
        self._posterior = None

    def _rebuild(self, candidates: Candidates, results: Mapping[int, Result], targets: Array, variances: Array) -> None:
        assert self._hyper is not None
        numbers = list(results)
        kept = self._representative(targets, _HELD_AT_MOST)
        self._held = [numbers[i] for i in kept]
        self._considered = set(numbers)
        self._candidates = candidates
        self._expected_of_candidates = self._columns.expected(candidates.rows)
        self._posterior = Posterior(candidates, self._tables, self._hyper)
        sources = len(self._source_rows)
        rows = self._rows([(results[number].row, 0) for number in self._held])
        spread = np.concatenate([variances[:sources], variances[sources:][kept]])
        self._posterior.add(np.concatenate([self._source_rows, rows]), spread)

    def _representative(self, targets: Array, most: int) -> list[int]:
        """All places, or the best half of `most` and a sample of the others, in their order."""
        if len(targets) <= most:
            return list(range(len(targets)))
        order = np.argsort(targets, kind="stable")
        others = self._rng.choice(order[most // 2 :], size=most - most // 2, replace=False)
        return sorted(int(i) for i in (*order[: most // 2], *others))

    def _rows(self, placed: Sequence[tuple[Array, int]]) -> Array:
        """Encoded configurations with the column that says where they come from (0: this run), if there is one."""
        rows = np.zeros((len(placed), len(self._tables)), dtype=np.int32)
        for i, (row, origin) in enumerate(placed):
            rows[i, : len(row)] = row
            if self._contexts:
                rows[i, -1] = origin
        return rows
