"""The initial design: the default configuration, then configurations with likely values that are far apart otherwise.

Each is the farthest of many drawn at random. These are the extremes of the parameters, in ever new combinations: seldom good, but
later predictions then lie between results and not beyond them. Where an author said what is likely, that says more than distance
does: of a few the half that is more likely slow is dropped, and the farthest of the others taken.
"""

from __future__ import annotations

import numpy as np

from warpsmith.search.gp.columns import Columns
from warpsmith.space import Space

_DRAWN = 2_000
_DRAWN_WITH_HINTS = 16


def spread_out(space: Space, columns: Columns, count: int, rng: np.random.Generator) -> list[int]:
    default = space.index(space.default)
    chosen = space.sample(1, rng) if default is None else [default]
    is_hinted = bool(space.unlikely) or any(parameter.likely for parameter in space.parameters)
    if is_hinted:
        chosen = list(dict.fromkeys([*chosen, _as_likely(space, chosen[0])]))
    rows = space.encoded(chosen)
    scaled = [table / max(float(table.max()), 1e-12) for table in columns.tables[: columns.parameters]]
    for _ in range(len(chosen), count):
        drawn = _likely_ones(space, columns, rng) if is_hinted else space.sample(_DRAWN, rng)
        drawn = [number for number in drawn if number not in chosen]
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


def _likely_ones(space: Space, columns: Columns, rng: np.random.Generator) -> list[int]:
    drawn = list(dict.fromkeys(_as_likely(space, number) for number in space.sample(_DRAWN_WITH_HINTS, rng)))
    slower = columns.expected(space.encoded(drawn))
    return [drawn[at] for at in np.argsort(slower, kind="stable")[: _DRAWN_WITH_HINTS // 2]]


def _as_likely(space: Space, number: int) -> int:
    """The configuration with the likely values in place of its own, as far as the constraints let it have them."""
    row = space.row(number).copy()
    for place, parameter in enumerate(space.parameters):
        if not parameter.likely or parameter.values[row[place]] in parameter.likely:
            continue
        for value in parameter.likely:
            changed = row.copy()
            changed[place] = parameter.values.index(value)
            if (found := int(space.indices(changed[None, :])[0])) >= 0:
                row, number = changed, found
                break
    return number
