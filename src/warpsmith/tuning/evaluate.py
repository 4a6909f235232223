"""One configuration → one outcome: bind, compile, verify on every tuning workload, then time beside the incumbent.

What compiling already tells is not launched: what cannot run, here or on a target that is compiled for too, and what is the same
code as something measured before.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, assert_never

import numpy as np

from warpsmith.core.configuration import Configuration, Value
from warpsmith.core.hardware import Resources
from warpsmith.core.outcome import (
    ArgumentCheck,
    Crashed,
    Evaluation,
    Infeasible,
    LaunchFailed,
    Measured,
    Outcome,
    TimedOut,
    Verdict,
    WorkloadTime,
    WrongResult,
)
from warpsmith.measure.bench import Bench, BenchFailure, Candidate
from warpsmith.measure.paired import PairedTime, PairPlan, time_beside
from warpsmith.measure.statistics import weighted_mean
from warpsmith.space import Violation
from warpsmith.spec.kernel import Workload
from warpsmith.tuning.builder import Builder


@dataclass(frozen=True, slots=True)
class _Incumbent:
    """The best so far, beside which the next candidate is timed; its own times relative to the baseline."""

    candidate: Candidate
    relative: Mapping[str, float]
    score: float


def _of_later_launches(found: Verdict | BenchFailure) -> WrongResult | BenchFailure:
    if not isinstance(found, Verdict):
        return found
    checks = (
        replace(c, problem=f"right at first, but after some launches {c.problem}") if not c.passed else c for c in found.checks
    )
    return WrongResult(Verdict(tuple(checks)))


class Feasible(Protocol):
    """What may be launched: a `Space`, or the rewrites of direct mode."""

    def __contains__(self, configuration: object) -> bool: ...

    def explain(self, configuration: Configuration) -> Sequence[Violation]: ...

    def allows(self, names: Mapping[str, Value]) -> bool: ...


class Evaluator:
    """Implements `tuning.search.Evaluate` on a real device."""

    def __init__(
        self,
        space: Feasible,
        builder: Builder,
        bench: Bench,
        *,
        rng: np.random.Generator,
        plan: PairPlan | None = None,
        adversaries: Sequence[Workload] = (),
    ) -> None:
        self._space = space
        self._adversaries = tuple(adversaries)
        self._builder = builder
        self._bench = bench
        self._rng = rng
        self._plan = plan or PairPlan()
        self._workloads = builder.binder.kernel.tuning_workloads
        self._weights = {w.name: w.weight for w in self._workloads}
        self._best: tuple[Configuration, Measured] | None = None
        self._measured: dict[str, Measured] = {}
        self._incumbent: _Incumbent | None = None

    def prefetch(self, configuration: Configuration) -> None:
        if configuration in self._space:
            self._builder.prefetch(configuration, self._verified_on(configuration))

    @property
    def compilers(self) -> int:
        return self._builder.compilers

    def resources(self, configurations: Sequence[Configuration]) -> list[Resources | None]:
        """What compiling tells of each, on the first workload; None for what does not compile or cannot run."""
        for configuration in configurations:
            self._builder.prefetch(configuration, self._workloads[:1])
        return [self._builder.resources(configuration, self._workloads[0]) for configuration in configurations]

    def observe(self, evaluation: Evaluation) -> None:
        outcome = evaluation.outcome
        if not isinstance(outcome, Measured):
            return
        if outcome.identity:
            self._measured.setdefault(outcome.identity, outcome)
        if self._best is None or outcome.score < self._best[1].score:
            self._best = evaluation.configuration, outcome

    def __call__(self, configuration: Configuration) -> Evaluation:
        started_at, began = time.time(), time.perf_counter()
        outcome = self._outcome(configuration)
        return Evaluation(configuration, outcome, time.perf_counter() - began, started_at)

    def _outcome(self, configuration: Configuration) -> Outcome:
        violations = self._space.explain(configuration)
        if violations:
            return Infeasible(str(violations[0]))
        workloads = self._verified_on(configuration)
        candidate = self._builder.build(configuration, workloads)
        if not isinstance(candidate, Candidate):
            return candidate
        refusal = self._builder.refusal(configuration, candidate)
        if refusal is not None:
            return refusal
        # Other parameters may be the same to the compiler: what was measured then holds for these too.
        twin = self._measured.get(candidate.identity)
        return twin if twin is not None else self._judged(candidate, workloads)

    def _judged(self, candidate: Candidate, workloads: Sequence[Workload]) -> Outcome:
        verdict = self._verify(candidate, workloads)
        if not isinstance(verdict, Verdict):
            return verdict
        if not verdict.passed:
            return WrongResult(verdict)
        measured = self._time(candidate, verdict)
        best_score = 1.0 if self._best is None else self._best[1].score
        if not isinstance(measured, Measured) or measured.score >= best_score:
            return measured
        # Whoever would be the best has to be right on its hundredth launch too.
        again = self._verify(candidate, self._workloads)
        return measured if isinstance(again, Verdict) and again.passed else _of_later_launches(again)

    def _verified_on(self, configuration: Configuration) -> tuple[Workload, ...]:
        """Every tuning workload, and what the tester added where the constraints allow the configuration on it."""
        names = self._builder.binder.names
        return (*self._workloads, *(w for w in self._adversaries if self._space.allows(names(configuration, w))))

    def _verify(self, candidate: Candidate, workloads: Sequence[Workload]) -> Verdict | BenchFailure:
        checks: list[ArgumentCheck] = []
        for workload in workloads:
            answer = self._bench.verify(candidate, workload.name)
            match answer:
                case Verdict():
                    checks += answer.checks
                    if not answer.passed:
                        break
                case LaunchFailed() | Crashed() | TimedOut():
                    return answer
                case _ as never:
                    assert_never(never)
        return Verdict(tuple(checks))

    def _time(self, candidate: Candidate, verdict: Verdict) -> Measured | BenchFailure:
        incumbent = self._current_incumbent() or _Incumbent(candidate, dict.fromkeys(self._weights, 1.0), 1.0)
        times: list[WorkloadTime] = []
        for workload in self._weights:
            paired = time_beside(self._bench, workload, candidate, incumbent.candidate, plan=self._plan, rng=self._rng)
            if not isinstance(paired, PairedTime):
                return paired
            scale = incumbent.relative[workload]
            # The baseline beside itself is 1 by definition: what it measured there is only noise.
            ratio = 1.0 if incumbent.candidate is candidate else paired.ratio.value
            interval = (paired.ratio.low * scale, paired.ratio.high * scale)
            times.append(WorkloadTime(workload, paired.candidate_us, ratio * scale, interval, paired.launches))
        relative = {t.workload: t.relative for t in times}
        resources = next(iter(candidate.binaries.values())).resources
        return Measured(verdict, tuple(times), weighted_mean(relative, self._weights), resources, candidate.identity)

    def _current_incumbent(self) -> _Incumbent | None:
        """The best evaluation as something to launch; rebuilt (from the cache) after a change or a resume."""
        if self._best is None:
            return None
        configuration, measured = self._best
        if self._incumbent is None or self._incumbent.score != measured.score:
            candidate = self._builder.build(configuration, self._workloads)
            if not isinstance(candidate, Candidate):
                return self._incumbent
            self._incumbent = _Incumbent(candidate, {t.workload: t.relative for t in measured.times}, measured.score)
        return self._incumbent
