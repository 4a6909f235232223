"""Sectors of global memory and wavefronts of shared memory for a warp's accesses.

Most accesses repeat a pattern at another place, so results are cached by pattern.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpsmith.devices.cuda.execution.exchange import WARP
from warpsmith.devices.cuda.execution.state import Mask

SECTOR = 32
LINE = 128
BANKS = 32
_REMEMBERED = 20_000

Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Touched:
    """By one instruction of a block. `distinct` are the sectors touched, relative to that of the lowest address."""

    requests: int
    sectors: int
    lines: int
    distinct: Places


@dataclass(slots=True)
class Patterns:
    _global: dict[Any, Touched] = field(default_factory=dict)
    _shared: dict[Any, int] = field(default_factory=dict)

    def touched(self, addresses: Places, mask: Mask, width: int) -> tuple[Touched, int]:
        """Together with the number of the first sector."""
        lowest = int(addresses.min(where=mask, initial=np.iinfo(np.int64).max))
        first = lowest // LINE * LINE
        relative = np.where(mask, addresses - first, -1)
        key = (relative.tobytes(), width)
        found = self._global.get(key)
        if found is None:
            if len(self._global) > _REMEMBERED:
                self._global.clear()
            found = self._global[key] = _touched(relative, width)
        return found, first // SECTOR

    def wavefronts(self, addresses: Places, mask: Mask, width: int) -> int:
        """Of shared memory: the number of words in the busiest bank."""
        lowest = int(addresses.min(where=mask, initial=np.iinfo(np.int64).max))
        relative = np.where(mask, addresses - lowest // 16 * 16, -1)
        key = (relative.tobytes(), width)
        found = self._shared.get(key)
        if found is None:
            if len(self._shared) > _REMEMBERED:
                self._shared.clear()
            found = self._shared[key] = _wavefronts(relative, width)
        return found


def _touched(relative: Places, width: int) -> Touched:
    warps = np.where(relative >= 0, relative // SECTOR, -1).reshape(-1, WARP)
    distinct = _distinct(warps)
    lines = _distinct(np.where(relative >= 0, relative // LINE, -1).reshape(-1, WARP))
    everywhere = np.unique(warps)
    del width  # aligned accesses of up to 16 bytes stay within a sector
    return Touched(
        requests=int((warps >= 0).any(axis=1).sum()),
        sectors=int(distinct.sum()),
        lines=int(lines.sum()),
        distinct=everywhere[everywhere >= 0],
    )


def _distinct(rows: Places) -> Places:
    """Number of distinct values in each row, ignoring negative ones."""
    ordered = np.sort(rows, axis=1)
    changes = (ordered[:, 1:] != ordered[:, :-1]) & (ordered[:, 1:] >= 0)
    counts: Places = changes.sum(axis=1) + (ordered[:, 0] >= 0)
    return counts


def _wavefronts(relative: Places, width: int) -> int:
    words = relative // 4
    if width > 4:
        words = words[:, None] + np.arange(width // 4)
        words = np.where(relative[:, None] >= 0, words, -1)
    rows = np.sort(words.reshape(-1, WARP * max(1, width // 4)), axis=1)
    is_new = rows >= 0
    is_new[:, 1:] &= rows[:, 1:] != rows[:, :-1]
    per_bank = np.zeros((len(rows), BANKS), np.int64)
    warps, places = np.nonzero(is_new)
    np.add.at(per_bank, (warps, rows[warps, places] % BANKS), 1)
    return int(per_bank.max(axis=1).sum())
