"""One configuration → one outcome: bind, compile, verify on every tuning workload, then time beside the incumbent.

What compiling already tells is not launched: what cannot run, here or on a target that is compiled for too, and what is the same
code as something measured before.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Protocol, assert_never

import numpy as np

from warpsmith.analysis.inspection import Inspector, launch_problem, occupancy_of
from warpsmith.compile.binding import Binder
from warpsmith.compile.pool import CompilePool
from warpsmith.compile.requests import Requests
from warpsmith.core.configuration import Configuration, Value
from warpsmith.core.hardware import Resources
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
from warpsmith.devices.base import CompileRequest, Device
from warpsmith.measure.bench import Bench, Candidate
from warpsmith.measure.candidates import assemble
from warpsmith.measure.paired import PairPlan, time_beside
from warpsmith.measure.statistics import weighted_mean
from warpsmith.space import Violation
from warpsmith.spec.kernel import Workload
from warpsmith.template import Template

_NO_TARGETS: Mapping[str, Inspector] = MappingProxyType({})


class Builder:
    """Compiles configurations into candidates. The default configuration is the *original* source, not the template."""

    def __init__(
        self, binder: Binder, template: Template, pool: CompilePool, targets: Mapping[str, Inspector] = _NO_TARGETS
    ) -> None:
        self.binder = binder
        self.template = template
        self.targets = targets
        self.requests = Requests(binder, template)
        self._pool = pool

    def prefetch(self, configuration: Configuration, workloads: Iterable[Workload]) -> None:
        for request in self.requests.of(configuration, workloads).values():
            self._pool.submit(request)
        for target in self.targets.values():
            target.submit(configuration)

    def build(
        self, configuration: Configuration, workloads: Iterable[Workload]
    ) -> Candidate | CompileFailed | Crashed | TimedOut:
        return self._build(configuration, workloads, lambda request: request)

    def refusal(self, configuration: Configuration, candidate: Candidate) -> Infeasible | CompileFailed | None:
        """What the compilers' output says against launching it, here or on a target; None if there is nothing."""
        for workload, binary in candidate.binaries.items():
            geometry = candidate.geometries[workload]
            occupancy = occupancy_of(self._pool.device, binary.resources, geometry)
            problem = launch_problem(self.binder.limits, binary.resources, geometry, occupancy)
            if problem is not None:
                return Infeasible(f"{problem} (workload {workload!r})")
        if configuration == self.binder.kernel.default_configuration:
            return None  # whether the original can run on the targets was asked before anything else
        for name, target in self.targets.items():
            report = target.report(configuration)
            if report.problem is not None:
                return (CompileFailed if report.kind == "failed" else Infeasible)(f"{name}: {report.problem}")
        return None

    @property
    def compilers(self) -> int:
        """How many compile at once."""
        return self._pool.workers

    @property
    def device(self) -> Device:
        return self._pool.device

    def resources(self, configuration: Configuration, workload: Workload) -> Resources | None:
        """What compiling for the workload says; None when it does not compile or cannot be launched."""
        candidate = self.build(configuration, (workload,))
        if not isinstance(candidate, Candidate) or self.refusal(configuration, candidate) is not None:
            return None
        return candidate.binaries[workload.name].resources

    @contextlib.contextmanager
    def quiet(self) -> Iterator[None]:
        """Nothing compiles meanwhile, for this device or for a target."""
        pools = [self._pool, *(target.pool for target in self.targets.values())]
        for pool in pools:
            pool.pause()
        try:
            yield
        finally:
            for pool in pools:
                pool.resume()

    def build_watched(
        self, configuration: Configuration, workloads: Iterable[Workload]
    ) -> Candidate | CompileFailed | Crashed | TimedOut:
        """As `build`, for a device that `Watches`: launches fail where threads race."""
        return self._build(configuration, workloads, lambda request: replace(request, watched=True))

    def build_plain(
        self, configuration: Configuration, workloads: Iterable[Workload]
    ) -> Candidate | CompileFailed | Crashed | TimedOut:
        """As `build`, for a device that `RunsPlainly`: nothing is done only for speed."""
        return self._build(configuration, workloads, lambda request: replace(request, plain=True))

    def build_templated(
        self, configuration: Configuration, workloads: Sequence[Workload]
    ) -> Candidate | CompileFailed | Crashed | TimedOut:
        """From the template, also where the configuration is the default."""
        return assemble(self._pool, self.binder, configuration, self.requests.meant(configuration, workloads), workloads)

    def build_template_default(self, workloads: Sequence[Workload]) -> Candidate | CompileFailed | Crashed | TimedOut:
        """The template at its defaults as a candidate of its own, to be proved equal to the original."""
        default = self.binder.kernel.default_configuration
        requests = {w.name: self.requests.templated(default, w) for w in workloads}
        return assemble(self._pool, self.binder, default, requests, workloads, name="template at its defaults")

    def _build(
        self, configuration: Configuration, workloads: Iterable[Workload], asked: Callable[[CompileRequest], CompileRequest]
    ) -> Candidate | CompileFailed | Crashed | TimedOut:
        workloads = tuple(workloads)
        requests = {name: asked(request) for name, request in self.requests.of(configuration, workloads).items()}
        return assemble(self._pool, self.binder, configuration, requests, workloads)


@dataclass(frozen=True, slots=True)
class _Incumbent:
    """The best so far, beside which the next candidate is timed; its own times relative to the baseline."""

    candidate: Candidate
    relative: Mapping[str, float]
    score: float


def _of_later_launches(found: Verdict | LaunchFailed | Crashed | TimedOut) -> WrongResult | LaunchFailed | Crashed | TimedOut:
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
        self._best: Evaluation | None = None
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
        if isinstance(evaluation.outcome, Measured) and evaluation.outcome.identity:
            self._measured.setdefault(evaluation.outcome.identity, evaluation.outcome)
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
        if not isinstance(measured, Measured) or measured.score >= (self._best.score if self._best and self._best.score else 1.0):
            return measured
        # Whoever would be the best has to be right on its hundredth launch too.
        again = self._verify(candidate, self._workloads)
        return measured if isinstance(again, Verdict) and again.passed else _of_later_launches(again)

    def _verified_on(self, configuration: Configuration) -> tuple[Workload, ...]:
        """Every tuning workload, and what the tester added where the constraints allow the configuration on it."""
        names = self._builder.binder.names
        return (*self._workloads, *(w for w in self._adversaries if self._space.allows(names(configuration, w))))

    def _verify(self, candidate: Candidate, workloads: Sequence[Workload]) -> Verdict | LaunchFailed | Crashed | TimedOut:
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
        return Measured(verdict, tuple(times), weighted_mean(relative, self._weights), resources, candidate.identity)

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
