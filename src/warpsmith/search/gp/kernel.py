"""The covariance of log times: Matérn 5/2 of a weighted sum of the parameters' squared distances."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from warpsmith.core.arrays import Array


def matern(squared: Array) -> Array:
    """(1 + r + r²/3) · exp(−r) with r = √(5 · squared), with few arrays in between: these can be large."""
    root = 5 * squared
    np.sqrt(root, out=root)
    value: Array = 1 + root
    square = root * root
    square /= 3
    value += square
    np.negative(root, out=root)
    np.exp(root, out=root)
    value *= root
    return value


def matern_and_slope(squared: Array) -> tuple[Array, Array]:
    """`matern`, and its derivative by the squared distance: most of the cost is common to both."""
    root = np.sqrt(5 * squared)
    decay = np.exp(-root)
    value: Array = (1 + root + root * root / 3) * decay
    slope: Array = (-5 / 6) * (1 + root) * decay
    return value, slope


def covariance(weighted: Sequence[Array], signal: float, these: Array, those: Array) -> Array:
    """Between encoded configurations; `weighted` are the columns' tables of squared distances, times their weights."""
    squared = np.zeros((len(these), len(those)))
    for column, table in enumerate(weighted):
        squared += table[np.ix_(these[:, column], those[:, column])]
    found: Array = signal * matern(squared)
    return found
