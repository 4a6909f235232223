"""Events of a run as its parts would send them, with names that would be markup somewhere."""

from __future__ import annotations

from collections.abc import Iterator

from warpsmith.core.configuration import Configuration
from warpsmith.core.hardware import Limits
from warpsmith.core.outcome import ArgumentCheck, CompileFailed, Evaluation, Measured, Outcome, Verdict, WorkloadTime
from warpsmith.devices.base import DeviceInfo
from warpsmith.record.transcript import Kind, Message, Role
from warpsmith.refactor.base import Concern
from warpsmith.tuning.agent.planning import Finding, Plan
from warpsmith.tuning.budget import Budget
from warpsmith.tuning.events import (
    BatchAdvanced,
    EvaluationAdvanced,
    EvaluationFinished,
    EvaluationQueued,
    Event,
    MessageNoted,
    RoundPlanned,
    RoundStarted,
    RunStarted,
    Step,
    Warned,
)

HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>"
INFO = DeviceInfo("cpu", f"a machine {HOSTILE}", Limits(1024, 1024, 1024, 64, 49152, 32, 2), frozenset())
GOOD = Verdict((ArgumentCheck("w", "out", passed=True, max_error=0.0),))


def measured(speedup: float) -> Measured:
    score = 1 / speedup
    return Measured(GOOD, (WorkloadTime("w", 1e3 * score, score, (score, score), 9),), score, ci95=(0.9 * score, 1.1 * score))


def configuration(number: int) -> Configuration:
    return Configuration.of({"BLOCK": number, "NAME": HOSTILE})


def evaluated(number: int, outcome: Outcome, best: Evaluation | None = None) -> EvaluationFinished:
    found = Evaluation(configuration(number), outcome, 0.5, 1000.0 + number)
    return EvaluationFinished(number, found, best or found, float(number), 60.0, from_record=False)


def started(run: str = "k-1", kernel: str = f"k{HOSTILE}") -> RunStarted:
    return RunStarted(run, kernel, INFO, "rules", "gp", Budget(20), 0)


def a_run() -> Iterator[Event]:
    yield BatchAdvanced(f"k{HOSTILE}", 1, 2, 1, 3, "an equal share")
    yield started()
    yield RoundPlanned(1, Plan((), f"reason {HOSTILE}", (Finding(Concern.TRAFFIC, f"finding {HOSTILE}", 1.0),)))
    yield RoundStarted(1, ("BLOCK",), 12, 24, 20)
    best = Evaluation(configuration(2), measured(2.5))
    yield evaluated(1, measured(1.25))
    yield evaluated(2, measured(2.5))
    yield evaluated(3, CompileFailed(f"error {HOSTILE}\nmore"), best)
    yield MessageNoted(Message(Role.PLANNER, Kind.REPLY, f"answer {HOSTILE}", 1, "m"), 1200, 0.25, unpriced=False)
    yield Warned(f"careful {HOSTILE}")
    yield EvaluationQueued(configuration(5))
    yield EvaluationAdvanced(configuration(4), Step.TIMING, "cpu")
