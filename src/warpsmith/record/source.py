"""`Source`: the evaluations that a warm start uses, from any recorder; stored with the run that used them."""

from __future__ import annotations

from dataclasses import dataclass

from warpsmith.core.outcome import Evaluation
from warpsmith.search.base import Prior


@dataclass(frozen=True, slots=True)
class SourceSummary:
    """`name` is a run's, or a file's path. `evaluations` are kept of the `found` ones, and `measured` of them have a time."""

    name: str
    kernel: str
    device: str
    evaluations: int
    measured: int
    found: int


@dataclass(frozen=True, slots=True)
class Source:
    name: str
    kernel: str
    device: str
    evaluations: tuple[Evaluation, ...]
    found: int

    @property
    def prior(self) -> Prior:
        return Prior(self.name, self.evaluations)

    @property
    def summary(self) -> SourceSummary:
        measured = sum(evaluation.score is not None for evaluation in self.evaluations)
        return SourceSummary(self.name, self.kernel, self.device, len(self.evaluations), measured, self.found)
