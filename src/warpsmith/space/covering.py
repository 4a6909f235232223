"""Pairwise covering samples: most failures depend on one or two values."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from warpsmith.core.configuration import Configuration
from warpsmith.space.space import Space

_DRAWN = 2_000


def covering_sample(space: Space, count: int, rng: np.random.Generator) -> list[Configuration]:
    """Up to `count` distinct configurations: each the one, of many drawn, that has the most pairs not seen in those before."""
    rows = space.encoded(space.sample(_DRAWN, rng))
    pairs = _pairs(rows, [len(parameter.values) for parameter in space.parameters])
    unseen = np.ones(pairs.max(initial=0) + 1, dtype=bool)
    left = np.ones(len(rows), dtype=bool)
    chosen = []
    for _ in range(min(count, len(rows))):
        gain = np.where(left, unseen[pairs].sum(axis=1), -1)
        best = int(gain.argmax())
        left[best] = False
        unseen[pairs[best]] = False
        chosen.append(space.decode(rows[best]))
    return chosen


def _pairs(rows: NDArray[np.int32], sizes: list[int]) -> NDArray[np.int64]:
    """For each configuration the numbers of its pairs of values, those of a value with itself among them."""
    columns, offset = [], 0
    for i, width in enumerate(sizes):
        for j in range(i + 1):
            columns.append(offset + rows[:, i].astype(np.int64) * sizes[j] + rows[:, j])
            offset += width * sizes[j]
    return np.stack(columns, axis=1) if columns else np.zeros((len(rows), 0), dtype=np.int64)
