"""A smooth model of log times, for looking at a space after the search: plain logarithms, fitted once.

The strategy's own model (`gp.model`) compresses the slow end and is updated result by result. Here slow configurations are part
of the answer, and there is no next result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from warpsmith.core.arrays import Array
from warpsmith.core.configuration import Value
from warpsmith.search.gp.encoding import distances
from warpsmith.search.gp.hyper import Fit
from warpsmith.search.gp.kernel import covariance

# A fit costs by the cube of its points, a hundred times over; holding them costs it once.
_FITTED_AT_MOST = 250
_HELD_AT_MOST = 1_000
_BLOCK = 2_000


@dataclass(frozen=True, slots=True)
class Surrogate:
    """`r2`: the share of the variance that is predicted right when each point is left out in turn, the fitted weights kept."""

    r2: float
    _rows: Array
    _weighted: tuple[Array, ...]
    _signal: float
    _solved: Array
    _centre: float
    _scale: float

    def predict(self, rows: Array) -> Array:
        """The expected log time of encoded configurations."""
        blocks = [rows[begin : begin + _BLOCK] for begin in range(0, len(rows), _BLOCK)]
        means = [covariance(self._weighted, self._signal, block, self._rows) @ self._solved for block in blocks]
        predicted: Array = self._centre + self._scale * np.concatenate(means)
        return predicted


def fit_surrogate(values: Sequence[Sequence[Value]], rows: Array, logs: Array, rng: np.random.Generator) -> Surrogate:
    """`values` of each parameter; `rows` are encoded configurations, each once, and `logs` their log times."""
    if len(rows) > _HELD_AT_MOST:
        kept = np.sort(rng.choice(len(rows), size=_HELD_AT_MOST, replace=False))
        rows, logs = rows[kept], logs[kept]
    centre, scale = float(logs.mean()), float(logs.std()) or 1.0
    targets = (logs - centre) / scale
    tables = [distances(own) for own in values]
    few = rng.permutation(len(rows))[:_FITTED_AT_MOST]
    hyper = Fit(tables)(rows[few], targets[few], np.zeros(len(few)), None)
    weighted = tuple(weight * table for weight, table in zip(hyper.weights, tables, strict=True))
    factor = cho_factor(covariance(weighted, hyper.signal, rows, rows) + hyper.noise * np.eye(len(rows)), lower=True)
    solved = cho_solve(factor, targets)
    missed = solved / np.diag(cho_solve(factor, np.eye(len(rows))))  # what leaving each one out would miss, without refitting
    variance = float(targets @ targets)
    r2 = 1 - float(missed @ missed) / variance if variance > 0 else 0.0
    return Surrogate(r2, rows, weighted, hyper.signal, solved, centre, scale)
