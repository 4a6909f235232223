"""Assigns CPU cores to measuring and to compiling, so that neither disturbs the other.

A compile on the same cores slows a two-core device by about two; on cores of its own no slowdown was seen.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

_COMPILERS_AT_MOST = 4


@dataclass(frozen=True, slots=True)
class Cores:
    """None means: no pinning, for machines with a single core."""

    measuring: frozenset[int] | None
    compiling: frozenset[int] | None
    compilers: int = 1  # processes

    @property
    def measuring_units(self) -> int | None:
        return len(self.measuring) if self.measuring else None


def divide_cores(workers: int | None = None) -> Cores:
    """A quarter of the cores (at least one) compiles, the rest measures while the search goes on.

    While the one that measures waits for a compiler, it lends its cores to compilers, too (`CompilePool.lent`).

    So many `workers` compile, by default one on each of those cores. More of them share these: which cores measure does not
    depend on it, or times of one run could not be compared with another's.
    """
    available = sorted(os.sched_getaffinity(0))
    if len(available) < 2:
        return Cores(None, None, workers or 1)
    compiling = min(_COMPILERS_AT_MOST, max(1, len(available) // 4))
    return Cores(frozenset(available[:-compiling]), frozenset(available[-compiling:]), workers or compiling)


def all_cores() -> int:
    """How many compilers may run at once where nothing is measured."""
    return min(_COMPILERS_AT_MOST, len(os.sched_getaffinity(0)))
