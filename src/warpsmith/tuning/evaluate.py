"""One configuration → one outcome: bind, compile, verify on every tuning workload, then time beside the incumbent."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

import numpy as np

from warpsmith.compile.binding import Binder, Source
from warpsmith.compile.pool import CompilePool
from warpsmith.core.configuration import Configuration
from warpsmith.core.outcome import (
    ArgumentCheck,
    CompileFailed,
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
from warpsmith.devices.base import CompileRequest
from warpsmith.measure.bench import Bench, Candidate
from warpsmith.measure.candidates import assemble
from warpsmith.measure.paired import PairPlan, time_beside
from warpsmith.measure.statistics import weighted_mean
from warpsmith.space import Space
from warpsmith.spec.document import read_source
from warpsmith.spec.kernel import Workload
from warpsmith.template import Template


class Builder:
    """Compiles configurations into candidates. The default configuration is the *original* source, not the template."""

    def __init__(self, binder: Binder, template: Template, pool: CompilePool) -> None:
        self.binder = binder
        self.template = template
        self._pool = pool
        kernel = binder.kernel
        self._original = Source(read_source(kernel.source), kernel.source)
        self._templated = Source(template.source, template.path, kernel.template_entry)

    def requests(self, configuration: Configuration, workloads: Iterable[Workload]) -> dict[str, CompileRequest]:
        if configuration == self.binder.kernel.default_configuration:
            return {w.name: self.original_request(w) for w in workloads}
        return {w.name: self.template_request(configuration, w) for w in workloads}

    def original_request(self, workload: Workload) -> CompileRequest:
        """The original needs its parameters only where kernel.toml names no template of its own."""
        kernel = self.binder.kernel
        defines = self.template.defines(kernel.default_configuration) if kernel.template_source is None else {}
        return self.binder.request(self._original, kernel.default_configuration, workload, defines)

    def template_request(self, configuration: Configuration, workload: Workload) -> CompileRequest:
        return self.binder.request(self._templated, configuration, workload, self.template.defines(configuration))

    def prefetch(self, configuration: Configuration, workloads: Iterable[Workload]) -> None:
        for request in self.requests(configuration, workloads).values():
            self._pool.submit(request)

    def build(
        self, configuration: Configuration, workloads: Iterable[Workload]
    ) -> Candidate | CompileFailed | Crashed | TimedOut:
        workloads = tuple(workloads)
        return assemble(self._pool, self.binder, configuration, self.requests(configuration, workloads), workloads)

    def build_template_default(self, workloads: Sequence[Workload]) -> Candidate | CompileFailed | Crashed | TimedOut:
        """The template at its defaults as a candidate of its own, to be proved equal to the original."""
        default = self.binder.kernel.default_configuration
        requests = {w.name: self.template_request(default, w) for w in workloads}
        return assemble(self._pool, self.binder, default, requests, workloads, name="template at its defaults")


@dataclass(frozen=True, slots=True)
class _Incumbent:
    """The best so far, beside which the next candidate is timed; its own times relative to the baseline."""

    candidate: Candidate
    relative: Mapping[str, float]
    score: float


class Evaluator:
    """Implements `tuning.search.Evaluate` on a real device."""

    def __init__(
        self, space: Space, builder: Builder, bench: Bench, *, rng: np.random.Generator, plan: PairPlan | None = None
    ) -> None:
        self._space = space
        self._builder = builder
        self._bench = bench
        self._rng = rng
        self._plan = plan or PairPlan()
        self._workloads = builder.binder.kernel.tuning_workloads
        self._weights = {w.name: w.weight for w in self._workloads}
        self._best: Evaluation | None = None
        self._incumbent: _Incumbent | None = None

    def prefetch(self, configuration: Configuration) -> None:
        if configuration in self._space:
            self._builder.prefetch(configuration, self._workloads)

    def observe(self, evaluation: Evaluation) -> None:
        if evaluation.score is not None and (
            self._best is None or self._best.score is None or evaluation.score < self._best.score
        ):
            self._best = evaluation

    def __call__(self, configuration: Configuration) -> Evaluation:
        started_at, began = time.time(), time.perf_counter()
        outcome = self._outcome(configuration)
        return Evaluation(configuration, outcome, time.perf_counter() - began, started_at)

    def _outcome(self, configuration: Configuration) -> Outcome:
        violations = self._space.explain(configuration)
        if violations:
            return Infeasible(str(violations[0]))
        candidate = self._builder.build(configuration, self._workloads)
        if not isinstance(candidate, Candidate):
            return candidate
        verdict = self._verify(candidate)
        if not isinstance(verdict, Verdict):
            return verdict
        if not verdict.passed:
            return WrongResult(verdict)
        return self._time(candidate, verdict)

    def _verify(self, candidate: Candidate) -> Verdict | LaunchFailed | Crashed | TimedOut:
        checks: list[ArgumentCheck] = []
        for workload in self._workloads:
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

    def _time(self, candidate: Candidate, verdict: Verdict) -> Measured | LaunchFailed | Crashed | TimedOut:
        incumbent = self._current_incumbent() or _Incumbent(candidate, dict.fromkeys(self._weights, 1.0), 1.0)
        times: list[WorkloadTime] = []
        for workload in self._weights:
            paired = time_beside(self._bench, workload, candidate, incumbent.candidate, plan=self._plan, rng=self._rng)
            if isinstance(paired, LaunchFailed | Crashed | TimedOut):
                return paired
            scale = incumbent.relative[workload]
            # The baseline beside itself is 1 by definition: what it measured there is only noise.
            ratio = 1.0 if incumbent.candidate is candidate else paired.ratio.value
            interval = (paired.ratio.low * scale, paired.ratio.high * scale)
            times.append(WorkloadTime(workload, paired.candidate_us, ratio * scale, interval, paired.launches))
        relative = {t.workload: t.relative for t in times}
        resources = next(iter(candidate.binaries.values())).resources
        return Measured(verdict, tuple(times), weighted_mean(relative, self._weights), resources)

    def _current_incumbent(self) -> _Incumbent | None:
        """The best evaluation as something to launch; rebuilt (from the cache) after a change or a resume."""
        best = self._best
        if best is None or not isinstance(best.outcome, Measured):
            return None
        if self._incumbent is None or self._incumbent.score != best.outcome.score:
            candidate = self._builder.build(best.configuration, self._workloads)
            if not isinstance(candidate, Candidate):
                return self._incumbent
            self._incumbent = _Incumbent(candidate, {t.workload: t.relative for t in best.outcome.times}, best.outcome.score)
        return self._incumbent
