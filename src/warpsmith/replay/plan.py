"""The plan of a replay: spaces, strategies, seeds, budget, and the source of a warm start."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ReplayTrial:
    """One search: everything that its course depends on, apart from the plan."""

    space: str
    strategy: str
    seed: int


@dataclass(frozen=True, slots=True)
class Warm:
    """Start from a record of the same kernel elsewhere: the same strategy's first `evaluations` there, or all there are."""

    file: Path
    name: str
    evaluations: int


@dataclass(frozen=True, slots=True)
class ReplayPlan:
    """`files` has the file of each space by its name."""

    files: dict[str, Path]
    strategies: tuple[str, ...]
    seeds: int
    evaluations: int
    warm: Warm | None
    at_once: int = 1  # evaluations under way: so many less one are not known yet when the next is chosen

    @property
    def trials(self) -> list[ReplayTrial]:
        return [
            ReplayTrial(space, strategy, seed)
            for space in self.files
            for strategy in self.strategies
            for seed in range(self.seeds)
        ]
