"""The model's hyperparameters: fitted by maximum a posteriori, with one prior for every space.

The prior was set once, to what fits recorded spaces of several kernels and GPUs on average. A few dozen results outweigh it;
before that it keeps the model from believing that whatever did not vary so far does not matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs

from warpsmith.core.arrays import Array
from warpsmith.search.gp.kernel import matern_and_slope

JITTER = 1e-6
_SIGNAL = (0.0, 1.0)
_NOISE = (-6.0, 2.0)
_ITERATIONS = 25
# Relative to the loss. What is gained below it moves no prediction, and would be a third of all steps.
_TOLERANCE = 1e-5
# With few results the likelihood has several hills: climb from the prior too.
_TWO_STARTS_BELOW = 40


@dataclass(frozen=True, slots=True)
class Weight:
    """A column's prior: mean and deviation of the logarithm of its weight in the sum of squared distances."""

    mean: float = -1.6
    deviation: float = 0.7


_WEIGHT = Weight()


@dataclass(frozen=True, slots=True)
class Hyper:
    """`weights` per column; `signal` and `noise` are variances."""

    logs: Array

    @property
    def weights(self) -> Array:
        weights: Array = np.exp(self.logs[:-2])
        return weights

    @property
    def signal(self) -> float:
        return float(np.exp(self.logs[-2]))

    @property
    def noise(self) -> float:
        return float(np.exp(self.logs[-1])) + JITTER


class Pairs:
    """Every pair of different points, once: `apart[c]` are their squared distances in column c, `given` known covariances.

    `given_variances` are those of the points themselves.
    """

    def __init__(self, tables: Sequence[Array], rows: Array, shared: Array | None = None) -> None:
        self.first, self.second = np.tril_indices(len(rows), -1)
        self.places = self.first * len(rows) + self.second  # in a matrix of all points, row by row
        self.apart = np.array([table[rows[self.first, c], rows[self.second, c]] for c, table in enumerate(tables)])
        common = np.zeros((len(rows), len(rows))) if shared is None else shared @ shared.T
        self.given = common[self.first, self.second]
        self.given_variances = common.diagonal()


class Fit:
    """`tables[c]` are the squared distances of column c's values; all columns' weights have the same prior."""

    def __init__(self, tables: Sequence[Array], prior: Weight | None = None) -> None:
        prior = prior or _WEIGHT
        self._tables = tables
        self._mean = np.array([*(prior.mean for _ in tables), _SIGNAL[0], _NOISE[0]])
        self._deviation = np.array([*(prior.deviation for _ in tables), _SIGNAL[1], _NOISE[1]])
        self._bounds = [(-9.0, 5.0)] * len(tables) + [(-4.0, 4.0), (-12.0, 0.0)]

    def __call__(self, rows: Array, targets: Array, spread: Array, before: Hyper | None, shared: Array | None = None) -> Hyper:
        """`spread` are known variances of single results, on top of the fitted noise; of `shared`, the products of rows are
        covariances that are there whatever is fitted.
        """
        if not len(targets):
            return Hyper(self._mean)
        from scipy.optimize import minimize  # noqa: PLC0415 - slow to load, and the first results need no model

        pairs = Pairs(self._tables, rows, shared)
        starts = [self._mean] if before is None else [before.logs]
        if before is not None and len(targets) < _TWO_STARTS_BELOW:
            starts.append(self._mean)
        found = [
            minimize(
                self._loss,
                start,
                args=(pairs, targets, spread),
                jac=True,
                method="L-BFGS-B",
                bounds=self._bounds,
                options={"maxiter": _ITERATIONS, "ftol": _TOLERANCE},
            )
            for start in starts
        ]
        return Hyper(min(found, key=lambda result: float(result.fun)).x)

    def _loss(self, logs: Array, pairs: Pairs, targets: Array, spread: Array) -> tuple[float, Array]:
        """Minus the logarithm of the posterior, and its gradient.

        Nearly all the time of a fit is spent here, so only one triangle of each symmetric matrix is computed, and LAPACK factors
        and inverts it in place. It reads by columns what is stored by rows: our lower triangle is its upper one.
        """
        weights, signal, noise = np.exp(logs[:-2]), np.exp(logs[-2]), np.exp(logs[-1])
        away = (logs - self._mean) / self._deviation
        value, slope = matern_and_slope(weights @ pairs.apart)
        count = len(targets)
        covariance = np.zeros(count * count)
        covariance[pairs.places] = signal * value + pairs.given
        covariance[:: count + 1] = signal + spread + pairs.given_variances + noise + JITTER
        factor, failed = dpotrf(covariance.reshape(count, count).T, lower=0, clean=0, overwrite_a=1)
        if failed:
            return 1e10, np.zeros_like(logs)
        solved, _ = dpotrs(factor, targets, lower=0)
        loss = 0.5 * targets @ solved + np.log(np.diag(factor)).sum() + 0.5 * away @ away
        inverse = dpotri(factor, lower=0, overwrite_c=1)[0].T.ravel()
        outer = inverse[pairs.places] - solved[pairs.first] * solved[pairs.second]
        trace = inverse[:: count + 1].sum() - solved @ solved
        gradient = np.concatenate(
            [
                weights * (pairs.apart @ (outer * slope)) * signal,
                [signal * (outer @ value + 0.5 * trace), 0.5 * noise * trace],
            ]
        )
        return float(loss), gradient + away / self._deviation
