"""Where to begin: the default configuration, then configurations that keep their distance from each other.

Each is the farthest of a few drawn at random. The farthest of all would be a corner of the space every time, and the extremes of
all parameters at once are seldom good and say little about the middle.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from warpsmith.space import Space

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

_DRAWN = 8


def spread_out(space: Space, tables: Sequence[Array], count: int, rng: np.random.Generator) -> list[int]:
    default = space.index(space.default)
    chosen = space.sample(1, rng) if default is None else [default]
    rows = space.encoded(chosen)
    scaled = [table / max(float(table.max()), 1e-12) for table in tables]
    for _ in range(1, count):
        drawn = [number for number in space.sample(_DRAWN, rng) if number not in chosen]
        if not drawn:
            break
        candidates = space.encoded(drawn)
        apart = sum(
            (table[np.ix_(candidates[:, c], rows[:, c])] for c, table in enumerate(scaled)), np.zeros((len(drawn), len(rows)))
        )
        farthest = int(np.argmax(apart.min(axis=1)))
        chosen.append(drawn[farthest])
        rows = np.concatenate([rows, candidates[farthest : farthest + 1]])
    return chosen
