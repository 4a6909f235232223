"""The model's own numbers, and their fit: the most probable ones, given the data and a prior that is the same for every space.

The prior was set once, to what fits recorded spaces of several kernels and GPUs on average. A few dozen results outweigh it;
before that it keeps the model from believing that whatever did not vary so far does not matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy.linalg import cho_solve
from scipy.optimize import minimize

from warpsmith.search.gp.kernel import matern, matern_slope

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

JITTER = 1e-6
_SIGNAL = (0.0, 1.0)
_NOISE = (-6.0, 2.0)
_ITERATIONS = 25
# With few results the likelihood has several hills: climb from the prior too.
_TWO_STARTS_BELOW = 40


@dataclass(frozen=True, slots=True)
class Weight:
    """A parameter's prior: mean and deviation of the logarithm of its weight in the sum of squared distances."""

    mean: float = -1.6
    deviation: float = 0.7


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


class Fit:
    """`tables[c]` are the squared distances of column c's values, `priors[c]` the prior of its weight."""

    def __init__(self, tables: Sequence[Array], priors: Sequence[Weight]) -> None:
        self._tables = tables
        self._mean = np.array([*(prior.mean for prior in priors), _SIGNAL[0], _NOISE[0]])
        self._deviation = np.array([*(prior.deviation for prior in priors), _SIGNAL[1], _NOISE[1]])
        self._bounds = [(-9.0, 5.0)] * len(tables) + [(-4.0, 4.0), (-12.0, 0.0)]

    def __call__(self, rows: Array, targets: Array, spread: Array, before: Hyper | None) -> Hyper:
        """`spread` are known variances of single results, on top of the fitted noise."""
        apart = np.array([table[np.ix_(rows[:, c], rows[:, c])] for c, table in enumerate(self._tables)])
        starts = [self._mean] if before is None else [before.logs]
        if before is not None and len(targets) < _TWO_STARTS_BELOW:
            starts.append(self._mean)
        found = [
            minimize(
                self._loss,
                start,
                args=(apart, targets, spread),
                jac=True,
                method="L-BFGS-B",
                bounds=self._bounds,
                options={"maxiter": _ITERATIONS},
            )
            for start in starts
        ]
        return Hyper(min(found, key=lambda result: float(result.fun)).x)

    def _loss(self, logs: Array, apart: Array, targets: Array, spread: Array) -> tuple[float, Array]:
        """Minus the logarithm of the posterior, and its gradient."""
        weights, signal, noise = np.exp(logs[:-2]), np.exp(logs[-2]), np.exp(logs[-1])
        squared = np.tensordot(weights, apart, 1)
        covariance = signal * matern(squared)
        away = (logs - self._mean) / self._deviation
        noisy = covariance + np.diag(spread + noise + JITTER)
        try:
            lower = np.linalg.cholesky(noisy)
        except np.linalg.LinAlgError:
            return 1e10, np.zeros_like(logs)
        inverse = cho_solve((lower, True), np.eye(len(targets)), check_finite=False)
        solved = inverse @ targets
        loss = 0.5 * targets @ solved + np.log(np.diag(lower)).sum() + 0.5 * away @ away
        outer = inverse - np.outer(solved, solved)
        slopes = (outer * signal * matern_slope(squared)).ravel()
        gradient = np.concatenate(
            [
                0.5 * weights * (apart.reshape(len(weights), -1) @ slopes),
                [0.5 * np.sum(outer * covariance), 0.5 * noise * np.trace(outer)],
            ]
        )
        return float(loss), gradient + away / self._deviation
