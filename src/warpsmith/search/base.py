"""The ask/tell protocol of every strategy. Strategies are pure: seeded, deterministic, and they never see a device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from warpsmith.core.configuration import Configuration
from warpsmith.core.hardware import Resources
from warpsmith.core.outcome import Evaluation


@dataclass(frozen=True, slots=True)
class Prior:
    """Results of an earlier run of the same kernel: on another device, another workload, or with an earlier template.

    Its scores are comparable with each other only. Its configurations may lack parameters of the space at hand, or have others.
    """

    source: str
    evaluations: tuple[Evaluation, ...]


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


@runtime_checkable
class Learner(Protocol):
    """A strategy that can start from earlier runs."""

    def learn(self, prior: Prior) -> None:
        """Called once for each prior, before the first ask. A misleading one must do no lasting harm."""
        ...


@runtime_checkable
class Foresighted(Protocol):
    """A strategy that uses compiler reports of more configurations than it asks for."""

    def shortlist(self) -> list[Configuration]:
        """What to compile before the next ask, not named before; none when nothing more is to be learnt. Asked until it is."""
        ...

    def foresee(self, configuration: Configuration, resources: Resources | None) -> None:
        """What the compiler said of it; None when it does not compile or cannot run."""
        ...
