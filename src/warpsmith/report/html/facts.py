"""`RunFacts`: all data of a report. Gathered by `tuning.afterwards.account`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from warpsmith.core.configuration import Configuration, Value
from warpsmith.core.outcome import Evaluation
from warpsmith.measure.roofline import Needs
from warpsmith.record.result import BestSoFar, Claim, Figures, RunResult, UnfinishedRun
from warpsmith.record.run import RoundRecord, RunRecord
from warpsmith.search.importance import Importance
from warpsmith.space.removal import Removal
from warpsmith.spec.kernel import Parameter, Workload


@dataclass(frozen=True, slots=True)
class TemplateFacts:
    """The template that was searched last, and its space; `diff` is against the original."""

    parameters: tuple[Parameter, ...]
    meanings: Mapping[str, str]
    diff: str
    feasible: int
    cartesian_size: int
    removed: tuple[Removal, ...]


@dataclass(frozen=True, slots=True)
class SourceFacts:
    """The original's text, and that of the template that was searched last."""

    name: str
    text: str
    template: str | None = None


@dataclass(frozen=True, slots=True)
class OtherRun:
    """A run to compare with; `differences` is the object of `compare-runs --json`."""

    differences: Mapping[str, Any]
    evaluations: tuple[Evaluation, ...]


@dataclass(frozen=True, slots=True)
class RunFacts:
    """`result` is the object of `show RUN --json`, `book` that of `--transcript`, `influence` that of `--importance`.

    What cannot be told is None, and `missing` says why: the kernel's files are no longer what they were.
    """

    record: RunRecord
    result: RunResult | UnfinishedRun
    evaluations: tuple[Evaluation, ...]  # in order; the original is the first
    round_of: Mapping[Configuration, int]
    rounds: tuple[RoundRecord, ...]
    book: Mapping[str, Any]
    repeat: str  # the command line of the same run again
    workloads: tuple[Workload, ...] = ()
    needs: Mapping[str, Needs] = field(default_factory=dict)  # by workload
    source: SourceFacts | None = None
    other: OtherRun | None = None
    template: TemplateFacts | None = None
    importance: Importance | None = None
    influence: Mapping[str, Any] | None = None
    rewrite_diff: str = ""  # of direct mode's winner against the original
    missing: str | None = None

    @property
    def original(self) -> Mapping[str, Value]:
        """The configuration that is the original; empty where that is not known."""
        baseline = self.result.baseline
        if baseline is not None:
            return dict(baseline.config)
        return {p.name: p.default for p in self.template.parameters} if self.template is not None else {}

    @property
    def best(self) -> Figures | BestSoFar | None:
        """What the run has to show: its claim; where that is the original, what may be faster; before that, the best so far."""
        if isinstance(self.result, UnfinishedRun):
            return self.result.best_so_far
        return self.claimed.best if self.claimed is not None else None

    def rewrite_of(self, config: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Of direct mode: the rewrite that a configuration means, as the record has it; None for the original."""
        number = config.get("REWRITE", 0)
        return next((about.plan for about in self.rounds if about.number == number), None)

    @property
    def own_claims(self) -> Mapping[str, Claim]:
        """By workload: claims of configurations that did better there than the general one."""
        if (result := self.claimed) is None:
            return {}
        return {w: own for w, own in result.per_workload.items() if own.config != result.general.config and own.verified}

    @property
    def claimed(self) -> RunResult | None:
        """The result, if there is one that was verified."""
        return self.result if isinstance(self.result, RunResult) and self.result.general.verified else None

    @property
    def has_gain(self) -> bool:
        return self.claimed is not None and self.claimed.general.ci95[0] > 1
