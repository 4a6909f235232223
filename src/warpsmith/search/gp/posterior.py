"""Predictions for all candidates, kept up to date by one row of the Cholesky factor for each new point.

The factor does not depend on the targets. So these may change with every result, and points whose result is outstanding may be in
it already: their target is then what the model expects, which moves no prediction and takes away their uncertainty.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import solve_triangular

from warpsmith.core.arrays import Array
from warpsmith.search.gp.candidates import Candidates
from warpsmith.search.gp.hyper import JITTER, Hyper
from warpsmith.search.gp.kernel import covariance, matern

# Single precision over the candidates: a small addition to the diagonal keeps the factor positive.
_RIDGE = 1e-5


class Posterior:
    """`tables` and `shared` as in `Fit`, the latter of the candidates here, and of points where they are added."""

    def __init__(self, candidates: Candidates, tables: Sequence[Array], hyper: Hyper, shared: Array | None = None) -> None:
        self._candidates = candidates
        self._hyper = hyper
        self._weighted = [weight * table for weight, table in zip(hyper.weights, tables, strict=True)]
        self._looked_up = [table.astype(np.float32) for table in self._weighted]
        self._rows = np.zeros((0, len(tables)), dtype=np.int32)
        self._shared_by_candidates = _or_nothing(shared, len(candidates)).T.astype(np.float32)
        self._shared = np.zeros((0, len(self._shared_by_candidates)))
        self._lower = np.zeros((0, 0))
        self._half = np.zeros((0, len(candidates)), dtype=np.float32)  # lower⁻¹ · covariance(points, candidates)
        self._prior = np.float32(hyper.signal) + np.einsum("ij,ij->j", self._shared_by_candidates, self._shared_by_candidates)
        self._explained = np.zeros(len(candidates), dtype=np.float32)

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, rows: Array, spread: Array, shared: Array | None = None) -> None:
        """Points, with the known variance of their results."""
        before, new = len(self._rows), len(rows)
        if not new:
            return
        self._grow(before + new)
        common = _or_nothing(shared, new)
        across = self._across(rows)
        if common.shape[1]:  # else it would be a large matrix of zeros
            across += common.astype(np.float32) @ self._shared_by_candidates
        within = self._covariance(rows, rows) + common @ common.T + np.diag(spread + self._hyper.noise + _RIDGE)
        self._rows = np.concatenate([self._rows, rows])
        old = slice(0, before)
        fresh = slice(before, before + new)
        if before:
            known = self._covariance(self._rows[old], rows) + self._shared @ common.T
            link = solve_triangular(self._lower[old, old], known, lower=True, check_finite=False).T
            within -= link @ link.T
            across -= link.astype(np.float32) @ self._half[old]
            self._lower[fresh, old] = link
        self._shared = np.concatenate([self._shared, common])
        corner = _factor(within)
        self._lower[fresh, fresh] = corner
        self._half[fresh] = solve_triangular(corner.astype(np.float32), across, lower=True, check_finite=False)
        self._explained += np.einsum("ij,ij->j", self._half[fresh], self._half[fresh])

    def predict(self, targets: Array) -> tuple[Array, Array]:
        """Mean and deviation for every candidate, given the points' targets; NaN stands for "as expected"."""
        mean = self._solved(targets).astype(np.float32) @ self._half[: len(targets)]
        variance = np.maximum(self._prior - self._explained, JITTER)
        return mean.astype(np.float64), np.sqrt(variance.astype(np.float64))

    def _solved(self, targets: Array) -> Array:
        """lower⁻¹ · targets. A point that comes out as the ones before it let expect contributes nothing: its entry is 0."""
        solved = np.zeros(len(targets))
        unknown = np.flatnonzero(np.isnan(targets)).tolist()
        for begin, end in zip([0, *(at + 1 for at in unknown)], [*unknown, len(targets)], strict=True):
            known = slice(begin, end)
            rest = targets[known] - self._lower[known, :begin] @ solved[:begin]
            solved[known] = solve_triangular(self._lower[known, known], rest, lower=True, check_finite=False)
        return solved

    def _grow(self, count: int) -> None:
        """Room for so many points, doubling so that adding one by one stays cheap."""
        have = len(self._half)
        if count <= have:
            return
        room = max(count + 16, have * 3 // 2)
        half = np.zeros((room, len(self._candidates)), dtype=np.float32)
        half[:have] = self._half
        lower = np.zeros((room, room))
        lower[:have, :have] = self._lower
        self._half, self._lower = half, lower

    def _across(self, rows: Array) -> Array:
        across = np.empty((len(rows), len(self._candidates)), dtype=np.float32)
        for part, squared in self._candidates.summed(self._looked_up, rows):
            np.multiply(np.float32(self._hyper.signal), matern(squared), out=across[part])
        return across

    def _covariance(self, these: Array, those: Array) -> Array:
        return covariance(self._weighted, self._hyper.signal, these, those)


def _or_nothing(shared: Array | None, count: int) -> Array:
    return np.zeros((count, 0)) if shared is None else shared


def _factor(matrix: Array) -> Array:
    """Cholesky; rounding may leave a repeated point with no variance of its own, so the diagonal is raised until it works."""
    ridge = 0.0
    while True:
        try:
            lower: Array = np.linalg.cholesky(matrix + ridge * np.eye(len(matrix)))
        except np.linalg.LinAlgError:
            ridge = max(10 * ridge, _RIDGE)
        else:
            return lower
