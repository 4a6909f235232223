"""The result of a run: the object that `tune --json`, `resume --json` and `show RUN --json` print, and that the record keeps.

Its fields are stable: others script against them. `as_json` writes it, `read_result` reads it, also as earlier versions wrote it.
What makes such objects is `tuning.result` and `tuning.claims`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from warpsmith.core.configuration import Value
from warpsmith.core.errors import UnavailableError
from warpsmith.core.hardware import Reading
from warpsmith.core.jsonable import ShapeError, as_json, from_json, omitted

Interval = tuple[float, float]
Values = Mapping[str, Value]
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What was measured of one configuration: `speedup` over the original, with its 95 % interval."""

    config: Values
    median_us: float
    speedup: float
    ci95: Interval
    roofline_fraction: float | None = None
    verified: bool
    max_error: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim(Figures):
    """On one workload."""

    baseline_us: float | None = omitted()


@dataclass(frozen=True, slots=True, kw_only=True)
class Overall(Figures):
    """Weighted geometric means over the tuning workloads."""

    workloads: Mapping[str, Claim] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Uncertain(Overall):
    """The general configuration if its gain were significant."""

    heldout: Mapping[str, Claim] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmSource:
    """An earlier recording that the search started from."""

    source: str
    kernel: str
    device: str
    evaluations: int
    measured: int
    found: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundEntry:
    """A round's plan, its reason, and its result."""

    round: int
    reason: str
    findings: tuple[str, ...] = ()
    forms: Mapping[str, str] = field(default_factory=dict)
    applied: tuple[str, ...] = ()
    declined: Mapping[str, str] = field(default_factory=dict)
    postponed: tuple[str, ...] = ()
    evaluations: int = 0
    speedup: float | None = None
    template: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RewriteEntry:
    """A whole kernel of direct mode."""

    rewrite: int
    hypothesis: str
    outcome: str
    speedup: float | None
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledTarget:
    """Resources of original and winners on a target that was only compiled for; entries are those of `analyze --json`."""

    target: str
    device: str = ""
    description: str
    versions: Mapping[str, str] = field(default_factory=dict)
    original: Mapping[str, Any]
    configurations: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AboveRoofEntry:
    """A claim above the roofline, and the decision on it."""

    workload: str
    config: Values
    roofline_fraction: float
    least_us: float | None = None
    refused: bool
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RooflineEntry:
    """The least time that the machine itself needs for each workload's traffic and operations."""

    roof_us: Mapping[str, float] = field(default_factory=dict)
    stream_us: Mapping[str, float] | None = omitted()  # for the bytes alone
    gflops: float | None = omitted()  # of nothing but multiply-adds
    how: str = ""
    above: tuple[AboveRoofEntry, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChecksEntry:
    """What a device's checkers said: checks made, what cost whom its place, what the original does, what could not be watched."""

    done: tuple[str, ...] = ()
    out: Mapping[str, str] = field(default_factory=dict)
    original: Mapping[str, str] = field(default_factory=dict)
    not_done: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeEntry:
    """A configuration on an undeclared shape."""

    config: Values | None = omitted()  # noqa: RUF009 - a field of its own
    workload: str
    sizes: Mapping[str, int]
    passed: bool
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AdversaryEntry:
    """An additional workload of verification."""

    workload: str
    sizes: Mapping[str, int]
    scale: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The evidence of the claims."""

    processes: int = 1
    process_spread: float = 1.0
    others_share: float | None = None
    oracle: str = ""
    passed_by_zeros: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    readings: tuple[Reading, ...] = ()
    checks: ChecksEntry | None = None
    elsewhere: tuple[ShapeEntry, ...] = ()
    counters: Mapping[str, Any] = field(default_factory=dict)
    cache: str | None = None
    input_seeds: tuple[int, ...] = ()
    odd_shapes: tuple[ShapeEntry, ...] | None = None
    also_verified: tuple[AdversaryEntry, ...] = ()
    as_fast: tuple[Values, ...] | None = omitted()  # as what was chosen among them: see `report.notes`


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCost:
    """The cost of language models. Where some of it is `unpriced`, `usd` is too low."""

    tokens: int
    usd: float
    unpriced: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeEntry:
    """An earlier run whose results the agent received."""

    run: str
    kernel: str
    device: str
    similarity: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterEntry:
    values: tuple[Value, ...] = ()
    default: Value
    assumes: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateEntry:
    """How it was shown that the template at its defaults is the original."""

    level: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateEntry:
    """The template that was searched last."""

    path: str = ""
    parameters: Mapping[str, ParameterEntry] = field(default_factory=dict)
    certificate: CertificateEntry | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BestSoFar:
    """As searched, not a claim."""

    config: Values
    speedup: float
    ci95: Interval | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorEntry:
    """Why a run failed."""

    message: str
    hint: str | None = None
    file: str | None = None
    line: int | None = None
    column: int | None = None
    exit_code: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """What was measured again after the search, and what it rests on: the part of a result that fresh processes made."""

    baseline: Overall
    general: Overall
    uncertain: Uncertain | None
    per_workload: Mapping[str, Claim]
    heldout: Mapping[str, Claim]
    roofline: RooflineEntry
    evidence: Evidence

    @property
    def best(self) -> Overall:
        """The fastest that was found, certain or not: what an export would ship."""
        return self.uncertain or self.general

    @property
    def fields(self) -> dict[str, Any]:
        """By the names that a result has them under."""
        return {f.name: getattr(self, f.name) for f in fields(self)}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunState:
    """What every run has, finished or not."""

    run: str
    status: str
    kernel: str
    device: str
    more_devices: tuple[str, ...] = ()
    agent: str
    mode: str = "template"
    strategy: str
    seed: int
    warm: tuple[WarmSource, ...] = ()
    rounds: int
    plan: tuple[RoundEntry, ...] = ()
    also_compile: tuple[CompiledTarget, ...] = ()
    evaluations: Mapping[str, int]
    seconds: float
    baseline: Overall | None
    general: Overall | None
    uncertain: Uncertain | None = None
    per_workload: Mapping[str, Claim]
    heldout: Mapping[str, Claim]

    @property
    def is_direct(self) -> bool:
        return self.mode == "direct"

    def as_json(self) -> dict[str, Any]:
        found: dict[str, Any] = as_json(self)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult(RunState):
    """Of a finished run. `general` is what it found, the original where nothing is significantly faster."""

    baseline: Overall
    general: Overall
    roofline: RooflineEntry = RooflineEntry()
    evidence: Evidence = Evidence()
    agent_stopped: str | None = None
    model: ModelCost | None = None
    knowledge: tuple[KnowledgeEntry, ...] = ()
    rewrites: tuple[RewriteEntry, ...] | None = omitted()
    template: TemplateEntry | None = None
    stored_in: str = ""

    @property
    def best(self) -> Overall:
        """The fastest that was found, certain or not."""
        return self.uncertain or self.general


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchedRun(RunState):
    """Of a run that ended with its search: a comparison claims for all of its runs together, a batch goes on later."""

    agent_stopped: str | None = None
    roof_us: Mapping[str, float] = field(default_factory=dict)
    stored_in: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnfinishedRun(RunState):
    """What is known so far of a run without a result."""

    error: ErrorEntry | None = None
    best_so_far: BestSoFar | None = None
    stored_in: str = ""


def read_result(found: Mapping[str, Any]) -> RunResult | UnfinishedRun:
    """From an object of this version or an earlier one. Raises UnavailableError for one that lacks what every result has."""
    kind: type[RunResult | UnfinishedRun] = UnfinishedRun if found.get("general", 0) is None else RunResult
    return _read(kind, found)


def read_error(found: Mapping[str, Any]) -> ErrorEntry:
    """As the record keeps it of a failed run. Raises UnavailableError."""
    return _read(ErrorEntry, found)


def _read(kind: type[T], found: Mapping[str, Any]) -> T:
    try:
        return from_json(kind, found)
    except ShapeError as error:
        raise UnavailableError(
            f"the run's result is damaged in the record: {error}", hint="`warpsmith show` lists the runs"
        ) from error
