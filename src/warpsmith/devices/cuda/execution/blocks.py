"""Sample blocks that represent a launch: one in the middle, those at the edges of the grid, and neighbours.

Blocks at an edge are weighted by its length if they behave differently. If blocks depend on data, several from all over the
grid are sampled.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from warpsmith.core.hardware import Dim3
from warpsmith.devices.cuda.execution.memory import GlobalMemory
from warpsmith.devices.cuda.execution.tally import Column, Rows, Tally

Place: TypeAlias = tuple[int, int, int]
_EXECUTED = slice(Column.WARPS, Column.REQUESTS + 1)
_SPREAD = (1 / 7, 6 / 7)  # of the grid, beside its middle


@dataclass(frozen=True, slots=True)
class Sample:
    """`rows` are the whole launch's; `cycles` those of a single warp in a middle block.

    `shared` are the sectors of such a block by who else touches them: only the block, its neighbour along x, that along y, both.
    """

    rows: Rows
    cycles: float
    blocks: int
    shared: tuple[int, int, int, int]


def sample(grid: Dim3, run: Callable[[Place], Tally], memory: GlobalMemory) -> Sample:
    middle = _at(grid, 1 / 2)
    base = run(middle)
    touched = memory.touched()
    shared = _shared(grid, middle, touched, run, memory)
    rows, cycles, count = base.rows, base.cycles, 1
    others = {place for place in (_at(grid, part) for part in _SPREAD) if place != middle}
    if others and (memory.is_asked or _differs(base, run(max(others)))):
        tallies = [base, *(run(place) for place in sorted(others))]
        rows = np.mean([tally.rows for tally in tallies], axis=0)
        cycles, count = float(np.mean([tally.cycles for tally in tallies])), len(tallies)
    blocks = grid[0] * grid[1] * grid[2]
    total = rows * blocks
    for axis, extent in enumerate(grid):
        for edge in (extent - 1, 0) if extent > 1 else ():
            place = (*middle[:axis], edge, *middle[axis + 1 :])
            if place == middle:
                continue
            there = run((place[0], place[1], place[2]))
            count += 1
            if not _differs(base, there):
                break
            total = total + (there.rows - base.rows) * (blocks / extent)
    return Sample(np.maximum(total, 0.0), cycles, count, shared)


def _at(grid: Dim3, part: float) -> Place:
    """Never the last along an axis, which may have less work, unless it is the only one."""
    x, y, z = (int((extent - 1) * part) for extent in grid)
    return x, y, z


def _differs(one: Tally, two: Tally) -> bool:
    return not np.array_equal(one.rows[:, _EXECUTED], two.rows[:, _EXECUTED])


def _shared(
    grid: Dim3,
    middle: Place,
    touched: np.ndarray[tuple[int], np.dtype[np.bool_]],
    run: Callable[[Place], Tally],
    memory: GlobalMemory,
) -> tuple[int, int, int, int]:
    neighbours = []
    for axis in (0, 1):
        if middle[axis] + 1 < grid[axis]:
            place = list(middle)
            place[axis] += 1
            run((place[0], place[1], place[2]))
            neighbours.append(memory.touched())
        else:
            neighbours.append(np.zeros_like(touched))
    along_x, along_y = (touched & other for other in neighbours)
    both = int((along_x & along_y).sum())
    x, y = int(along_x.sum()) - both, int(along_y.sum()) - both
    return int(touched.sum()) - x - y - both, x, y, both
