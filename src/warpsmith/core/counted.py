"""Counters of a launch, obtained by executing its machine code without the hardware: types shared by devices and analysis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from warpsmith.core.hardware import UnitRates


@dataclass(frozen=True, slots=True)
class LaunchArgument:
    """`nbytes` of a buffer (None: a null pointer), or the bytes of a scalar, as hexadecimal digits."""

    name: str
    nbytes: int | None = None
    scalar: str | None = None


@dataclass(frozen=True, slots=True)
class CountedLine:
    """A line of source, with what its instructions count."""

    file: str
    line: int
    metrics: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Counted:
    """`metrics` have NVIDIA's names, over the whole launch.

    `warp_cycles` is how long one warp takes by itself. `blocks` were executed, for all. `sectors` are those that a block in the
    middle touches: it alone, its neighbour along x too, along y, both; `distinct_sectors` those of each block, summed over all.
    `rates` are those of the multiprocessor. `inputs` are buffers whose contents it depends on.
    """

    metrics: Mapping[str, float]
    warp_cycles: float
    blocks: int
    sectors: tuple[int, int, int, int]
    distinct_sectors: float
    rates: UnitRates
    inputs: tuple[str, ...] = ()
    lines: tuple[CountedLine, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class NeedsInput:
    """The contents of a buffer are asked for: an address or a branch depends on them."""

    name: str
