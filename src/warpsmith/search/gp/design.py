"""Where to begin: the default configuration, then configurations far from each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from warpsmith.space import Space

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

_SAMPLED = 1_500


def spread_out(space: Space, tables: Sequence[Array], count: int, rng: np.random.Generator) -> list[int]:
    """Each next one is the configuration, of a sample, that is farthest from the nearest already chosen."""
    default = space.index(space.default)
    numbers = space.sample(_SAMPLED, rng)
    rows = space.encoded(numbers)
    tables = [table / max(float(table.max()), 1e-12) for table in tables]
    chosen = [default if default is not None else numbers[0]]
    nearest = np.full(len(numbers), np.inf)
    while len(chosen) < min(count, space.size):
        row = space.row(chosen[-1])
        away = sum((table[row[c]][rows[:, c]] for c, table in enumerate(tables)), np.zeros(len(numbers)))
        nearest = np.minimum(nearest, away)
        if not nearest.max() > 0:
            break
        chosen.append(numbers[int(np.argmax(nearest))])
    return chosen
