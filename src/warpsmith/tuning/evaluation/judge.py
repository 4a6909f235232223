"""A built candidate → verdict and times, on one bench: verified on every workload, then timed interleaved with the incumbent.

Needs neither strategy, space nor compiler, so it may as well work in another process, or on another machine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

import numpy as np

from warpsmith.core.configuration import Configuration
from warpsmith.core.outcome import (
    ArgumentCheck,
    Crashed,
    LaunchFailed,
    Measured,
    Outcome,
    TimedOut,
    Verdict,
    WorkloadTime,
    WrongResult,
)
from warpsmith.measure.bench import Bench, BenchFailure, Candidate
from warpsmith.measure.examined import Examiner
from warpsmith.measure.paired import PairedTime, WrongLaunch, time_beside
from warpsmith.measure.policy import ANCHOR, SEARCH, PairPlan
from warpsmith.measure.statistics import Ratio, weighted_ratio
from warpsmith.tuning.events import Emit, EvaluationAdvanced, Step, ignore


@dataclass(frozen=True, slots=True)
class Incumbent:
    """The best so far, with which the next candidate is interleaved; its times relative to the baseline."""

    candidate: Candidate
    times: Mapping[str, Ratio]
    score: float


@dataclass(frozen=True, slots=True)
class Trial:
    """A candidate to be judged on workloads, and those that it is judged beside.

    Without an incumbent it is the baseline itself. `fallback` is the baseline, for when the incumbent turns out to be wrong.
    """

    configuration: Configuration
    candidate: Candidate
    verified_on: tuple[str, ...]
    original: Candidate
    incumbent: Incumbent | None = None
    fallback: Incumbent | None = None


@dataclass(frozen=True, slots=True)
class Judgement:
    """`caught`: the incumbent was wrong in a timed launch, after all."""

    outcome: Outcome
    caught: bool = False


class Judge:
    """Implements `tuning.evaluation.seats.Seat`. `weights` are those of the tuning workloads, which are timed."""

    def __init__(
        self,
        bench: Bench,
        weights: Mapping[str, float],
        *,
        rng: np.random.Generator,
        plan: PairPlan | None = None,
        emit: Emit = ignore,
    ) -> None:
        self.name = bench.device
        self._emit = emit
        self._bench = bench
        self._weights = dict(weights)
        self._rng = rng
        self._plan = plan or SEARCH

    def judge(self, trial: Trial) -> Judgement:
        self._emit(EvaluationAdvanced(trial.configuration, Step.VERIFYING, self.name))
        verdict = self._verify(trial.candidate, trial.verified_on)
        if not isinstance(verdict, Verdict):
            return Judgement(verdict)
        if not verdict.passed:
            return Judgement(WrongResult(verdict))
        self._emit(EvaluationAdvanced(trial.configuration, Step.TIMING, self.name))
        incumbent, caught = trial.incumbent, False
        measured = self._beside(incumbent, trial, verdict, self._plan)
        if measured is None:  # the incumbent was wrong
            incumbent, caught = trial.fallback, True
            measured = self._beside(incumbent, trial, verdict, self._plan)
            assert measured is not None, "the original serves as the oracle"
        best_score = 1.0 if incumbent is None else incumbent.score
        if not isinstance(measured, Measured) or measured.score >= best_score:
            return Judgement(measured, caught)
        return Judgement(self._anchored(trial, incumbent, verdict, measured), caught)

    def regain(self) -> bool:
        """Its bench replaces workers that die, so that it is never lost."""
        return True

    def abandon(self) -> None:
        """As `Bench.abandon`."""
        self._bench.abandon()

    def _anchored(self, trial: Trial, incumbent: Incumbent | None, verdict: Verdict, measured: Measured) -> Outcome:
        """Whoever would be the best has to be right on its hundredth launch too, and beside the baseline itself."""
        again = self._verify(trial.candidate, tuple(self._weights))
        if not isinstance(again, Verdict) or not again.passed:
            return _of_later_launches(again)
        is_beside_baseline = incumbent is not None and incumbent.candidate.identity == trial.original.identity
        if is_beside_baseline and all(t.launches >= ANCHOR.quick_pairs for t in measured.times):
            return measured
        anchored = self._beside(as_baseline(trial.original, self._weights), trial, verdict, ANCHOR)
        assert anchored is not None, "the original serves as the oracle"
        return anchored

    def _verify(self, candidate: Candidate, workloads: Sequence[str]) -> Verdict | BenchFailure:
        checks: list[ArgumentCheck] = []
        for workload in workloads:
            answer = self._bench.verify(candidate, workload)
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

    def _beside(self, incumbent: Incumbent | None, trial: Trial, verdict: Verdict, plan: PairPlan) -> Outcome | None:
        """None where the incumbent turns out to be wrong."""
        candidate = trial.candidate
        incumbent = incumbent or as_baseline(candidate, self._weights)
        times: list[WorkloadTime] = []
        ratios: dict[str, Ratio] = {}
        examiner = Examiner(self._bench, trial.original)
        for workload in self._weights:
            paired = time_beside(
                self._bench, workload, candidate, incumbent.candidate, examiner=examiner, plan=plan, rng=self._rng
            )
            match paired:
                case PairedTime():
                    own = Ratio(1.0, 1.0, 1.0) if incumbent.candidate is candidate else paired.ratio
                    ratio = ratios[workload] = own.times(incumbent.times[workload])
                    interval = (ratio.low, ratio.high)
                    times.append(WorkloadTime(workload, paired.candidate_us, ratio.value, interval, paired.launches))
                case WrongLaunch(is_incumbents=True):
                    return None
                case WrongLaunch():
                    return WrongResult(paired.verdict)
                case LaunchFailed() | Crashed() | TimedOut():
                    return paired
                case _ as never:
                    assert_never(never)
        score = weighted_ratio(ratios, self._weights)
        resources = next(iter(candidate.binaries.values())).resources
        return Measured(verdict, tuple(times), score.value, resources, candidate.identity, (score.low, score.high))


def as_baseline(candidate: Candidate, workloads: Mapping[str, float]) -> Incumbent:
    """The baseline beside itself is 1 by definition: what it measured there is only noise."""
    return Incumbent(candidate, dict.fromkeys(workloads, Ratio(1.0, 1.0, 1.0)), 1.0)


def _of_later_launches(found: Verdict | BenchFailure) -> WrongResult | BenchFailure:
    if not isinstance(found, Verdict):
        return found
    checks = (
        replace(c, problem=f"correct in the first launch, but later {c.problem}") if not c.passed else c for c in found.checks
    )
    return WrongResult(Verdict(tuple(checks)))
