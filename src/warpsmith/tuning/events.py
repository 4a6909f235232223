"""Progress events of a run. The loop emits them; terminal and MCP server subscribe."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from warpsmith.core.configuration import Configuration
from warpsmith.core.outcome import Evaluation, Measured
from warpsmith.devices.base import DeviceInfo
from warpsmith.record.result import RunResult, SearchedRun
from warpsmith.record.source import SourceSummary
from warpsmith.record.transcript import Message
from warpsmith.spec.kernel import Workload
from warpsmith.tuning.agent.planning import Plan
from warpsmith.tuning.budget import Budget


@dataclass(frozen=True, slots=True)
class RunStarted:
    run: str
    kernel: str
    device: DeviceInfo
    agent: str
    strategy: str
    budget: Budget
    resumed_evaluations: int
    more_devices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceLearned:
    """The run starts from what an earlier one found."""

    source: SourceSummary


@dataclass(frozen=True, slots=True)
class Warned:
    """A possible mistake."""

    message: str


@dataclass(frozen=True, slots=True)
class PreparationStarted:
    """The next step before the first evaluation: it may take seconds in which nothing is measured."""

    what: str


@dataclass(frozen=True, slots=True)
class RoundPlanned:
    """The agent's findings and its plan."""

    number: int
    plan: Plan


@dataclass(frozen=True, slots=True)
class AdversariesChosen:
    """What a tester added to verification, and why the rest of what it asked for does not count."""

    kept: tuple[Workload, ...]
    dropped: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class MessageNoted:
    """Something was said to a model or by one; with what all of it has cost so far."""

    message: Message
    tokens: int
    usd: float
    unpriced: bool


@dataclass(frozen=True, slots=True)
class AgentGaveUp:
    """The agent stopped; the run continues without it."""

    reason: str


@dataclass(frozen=True, slots=True)
class PassesPostponed:
    """The time for a round's template was over before their turn."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RoundStarted:
    """The round's template and its space are ready."""

    number: int
    parameters: tuple[str, ...]
    configurations: int
    cartesian_size: int
    evaluations: int | None  # at most so many in this round


@dataclass(frozen=True, slots=True)
class RoundFinished:
    number: int
    evaluations: int
    speedup: float  # the best so far, as searched
    ci95: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class TemplateCertified:
    level: str
    detail: str


@dataclass(frozen=True, slots=True)
class BaselineMeasured:
    """The original, at its own launch: the reference of every ratio that follows."""

    outcome: Measured


class Step(StrEnum):
    """Of an evaluation."""

    COMPILING = "compiling"
    VERIFYING = "verifying"
    TIMING = "timing"


@dataclass(frozen=True, slots=True)
class EvaluationQueued:
    """A configuration is asked for ahead: compilers have it, and it waits for its turn."""

    configuration: Configuration


@dataclass(frozen=True, slots=True)
class EvaluationAdvanced:
    """An evaluation takes its next step. It may come from any thread: several devices evaluate at once."""

    configuration: Configuration
    step: Step
    where: str


@dataclass(frozen=True, slots=True)
class EvaluationFinished:
    number: int
    evaluation: Evaluation
    best: Evaluation | None
    seconds: float
    seconds_left: float | None
    from_record: bool


@dataclass(frozen=True, slots=True)
class StageStarted:
    """A stage after the search: choosing among finalists, claiming in fresh processes."""

    name: str
    steps: int


@dataclass(frozen=True, slots=True)
class StageAdvanced:
    step: int
    detail: str = ""


@dataclass(frozen=True, slots=True)
class BatchAdvanced:
    """A batch goes on with one of its kernels."""

    kernel: str
    number: int
    of: int
    stage: int
    stages: int
    reason: str  # for its share


@dataclass(frozen=True, slots=True)
class RunFinished:
    result: RunResult | SearchedRun


Event: TypeAlias = (
    RunStarted
    | SourceLearned
    | Warned
    | PreparationStarted
    | RoundPlanned
    | AdversariesChosen
    | MessageNoted
    | AgentGaveUp
    | PassesPostponed
    | RoundStarted
    | RoundFinished
    | TemplateCertified
    | BaselineMeasured
    | EvaluationQueued
    | EvaluationAdvanced
    | EvaluationFinished
    | StageStarted
    | StageAdvanced
    | BatchAdvanced
    | RunFinished
)
Emit: TypeAlias = Callable[[Event], None]


def ignore(_event: Event) -> None:
    """The subscriber of those who only want the result."""
