"""Which cores measure and which compile, so that neither disturbs the other.

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

    @property
    def compilers(self) -> int:
        return len(self.compiling) if self.compiling else 1

    @property
    def measuring_units(self) -> int | None:
        return len(self.measuring) if self.measuring else None


def divide_cores() -> Cores:
    """A quarter of the cores (at least one) compiles, the rest measures while the search goes on."""
    available = sorted(os.sched_getaffinity(0))
    if len(available) < 2:
        return Cores(None, None)
    compilers = min(_COMPILERS_AT_MOST, max(1, len(available) // 4))
    return Cores(frozenset(available[:-compilers]), frozenset(available[-compilers:]))


def all_cores() -> int:
    """How many compilers may run at once where nothing is measured."""
    return min(_COMPILERS_AT_MOST, len(os.sched_getaffinity(0)))
