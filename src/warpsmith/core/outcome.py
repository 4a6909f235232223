"""The outcome of one configuration: a closed union, matched exhaustively everywhere.

`Measured | Infeasible | CompileFailed | LaunchFailed | WrongResult | Crashed | TimedOut`

`Measured` cannot be constructed without a passing `Verdict`: nothing unverified is ever reported.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TypeAlias

from warpsmith.core.configuration import Configuration
from warpsmith.core.hardware import Resources


@dataclass(frozen=True, slots=True)
class ArgumentCheck:
    """How one argument compared with the oracle on one workload. `where` is the index of the largest error."""

    workload: str
    argument: str
    passed: bool
    max_error: float
    where: tuple[int, ...] = ()
    got: str = ""
    expected: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    checks: tuple[ArgumentCheck, ...]

    @property
    def passed(self) -> bool:
        return bool(self.checks) and all(check.passed for check in self.checks)

    @property
    def failure(self) -> ArgumentCheck | None:
        return next((check for check in self.checks if not check.passed), None)

    @property
    def max_error(self) -> float:
        return max((check.max_error for check in self.checks), default=0.0)


@dataclass(frozen=True, slots=True)
class WorkloadTime:
    """One workload's time. `relative` is time / baseline time, from paired launches: the figure to trust."""

    workload: str
    median_us: float
    relative: float
    ci95: tuple[float, float]
    launches: int


@dataclass(frozen=True, slots=True)
class Measured:
    """Verified and timed. `score` is the weighted geometric mean of the relative times: below 1 beats the baseline."""

    verdict: Verdict
    times: tuple[WorkloadTime, ...]
    score: float
    resources: Resources = field(default_factory=Resources)
    identity: str = ""  # of what was launched: configurations that the compiler makes the same of have the same
    ci95: tuple[float, float] | None = None  # of the score; None in records that are older than this field

    @property
    def speedup_ci95(self) -> tuple[float, float] | None:
        """Of 1 / score; None where too few launches were timed to say."""
        if self.ci95 is None or self.ci95[0] <= 0 or math.isinf(self.ci95[1]):
            return None
        return 1 / self.ci95[1], 1 / self.ci95[0]

    def __post_init__(self) -> None:
        if not self.verdict.passed:
            raise ValueError(f"Measured needs a passing verdict; got {self.verdict.failure}")


@dataclass(frozen=True, slots=True)
class Infeasible:
    """Outside r(h) or a constraint; `reason` has the constraint and the two numbers."""

    reason: str


@dataclass(frozen=True, slots=True)
class CompileFailed:
    reason: str
    log: str = ""


@dataclass(frozen=True, slots=True)
class LaunchFailed:
    reason: str


@dataclass(frozen=True, slots=True)
class WrongResult:
    verdict: Verdict

    @property
    def reason(self) -> str:
        failure = self.verdict.failure
        return "verification did not run" if failure is None else f"{failure.argument} on {failure.workload}: {failure.problem}"


@dataclass(frozen=True, slots=True)
class Crashed:
    """The worker process died (signal, out of memory, exit); `reason` says how."""

    reason: str


@dataclass(frozen=True, slots=True)
class TimedOut:
    reason: str
    limit_s: float


Outcome: TypeAlias = Measured | Infeasible | CompileFailed | LaunchFailed | WrongResult | Crashed | TimedOut

OUTCOME_KINDS: tuple[str, ...] = ("Measured", "Infeasible", "CompileFailed", "LaunchFailed", "WrongResult", "Crashed", "TimedOut")


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One configuration's outcome: what strategies are told and what the record keeps."""

    configuration: Configuration
    outcome: Outcome
    seconds: float = 0.0
    started_at: float = 0.0

    @property
    def score(self) -> float | None:
        return self.outcome.score if isinstance(self.outcome, Measured) else None
