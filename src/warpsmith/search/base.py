"""The ask/tell protocol of every strategy. Strategies are pure: seeded, deterministic, and they never see a device."""

from __future__ import annotations

from typing import Protocol

from warpsmith.core.configuration import Configuration
from warpsmith.core.outcome import Evaluation


class Strategy(Protocol):
    """Constructed as `Strategy(space, rng)`, with `rng: np.random.Generator`.

    The same space, seed and sequence of calls give the same answers. A configuration is asked for at most once.
    """

    def ask(self, n: int = 1) -> list[Configuration]:
        """Up to `n` feasible configurations not asked for before; fewer, or none, when the space is exhausted."""
        ...

    def tell(self, evaluation: Evaluation) -> None:
        """Learn from one finished evaluation, in any order relative to other outstanding ones."""
        ...
