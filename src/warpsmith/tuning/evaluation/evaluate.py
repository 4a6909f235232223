"""One configuration → one outcome: bind, compile, then verified and timed by a judge (`tuning.evaluation.judge`).

What compiling already tells is not launched: what cannot run, here or on a target that is compiled for too, and what is the same
code as something measured before.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Protocol

import numpy as np

from warpsmith.core.configuration import Configuration, Value
from warpsmith.core.errors import BaselineError
from warpsmith.core.hardware import Resources
from warpsmith.core.outcome import Evaluation, Infeasible, Measured, Outcome
from warpsmith.measure.bench import Bench, Candidate
from warpsmith.measure.policy import PairPlan
from warpsmith.measure.statistics import Ratio
from warpsmith.space import Violation
from warpsmith.spec.kernel import Workload
from warpsmith.tuning.evaluation.builder import Builder
from warpsmith.tuning.evaluation.judge import Incumbent, Judge, Judgement, Trial
from warpsmith.tuning.events import Emit, EvaluationAdvanced, EvaluationQueued, Step, ignore


class Feasible(Protocol):
    """The feasible configurations: a `Space`, or the rewrites of direct mode."""

    def __contains__(self, configuration: object) -> bool: ...

    def explain(self, configuration: Configuration) -> Sequence[Violation]: ...

    def allows(self, names: Mapping[str, Value]) -> bool: ...


class Desk:
    """All of an evaluation that needs no device: what is compiled for it, and beside what it is to be judged.

    Who observes, and who asks for trials, may be different threads.
    """

    def __init__(
        self,
        space: Feasible,
        builder: Builder,
        *,
        adversaries: Sequence[Workload] = (),
        alone: bool = False,
        emit: Emit = ignore,
    ) -> None:
        """`alone`: nobody else measures on these cores, so compilers may have them while a configuration is waited for."""
        self._alone = alone
        self._emit = emit
        self._space = space
        self._adversaries = tuple(adversaries)
        self._builder = builder
        self._workloads = builder.binder.kernel.tuning_workloads
        self.weights = {w.name: w.weight for w in self._workloads}
        self._lock = threading.RLock()
        self._best: tuple[Configuration, Measured] | None = None
        self._baseline: tuple[Configuration, Measured] | None = None
        self._caught: set[str] = set()
        """Identities of incumbents that were wrong in a timed launch, after all."""
        self._measured: dict[str, Measured] = {}
        self._incumbent: Incumbent | None = None

    def prefetch(self, configuration: Configuration) -> None:
        if configuration in self._space:
            self._builder.prefetch(configuration, self._verified_on(configuration))
            self._emit(EvaluationQueued(configuration))

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
        with self._lock:
            if outcome.identity in self._caught:
                return
            if outcome.identity:
                self._measured.setdefault(outcome.identity, outcome)
            if evaluation.configuration == self._default:
                self._baseline = evaluation.configuration, outcome
            if self._best is None or outcome.score < self._best[1].score:
                self._best = evaluation.configuration, outcome

    def built(self, configuration: Configuration) -> Candidate | Outcome:
        """What could be launched, once it is compiled; or the outcome, where the space or a compiler has the last word."""
        violations = self._space.explain(configuration)
        if violations:
            return Infeasible(str(violations[0]))
        self._emit(EvaluationAdvanced(configuration, Step.COMPILING, self._builder.device.name))
        build = self._builder.build_idle if self._alone else self._builder.build
        candidate = build(configuration, self._verified_on(configuration))
        if not isinstance(candidate, Candidate):
            return candidate
        return self._builder.refusal(configuration, candidate) or candidate

    def trial(self, configuration: Configuration, candidate: Candidate) -> Trial | Measured:
        """What a judge is to be asked now; or what was measured of the same code before."""
        names = tuple(workload.name for workload in self._verified_on(configuration))
        with self._lock:
            # Other parameters may be the same to the compiler: what was measured then holds for these too.
            twin = self._measured.get(candidate.identity)
            if twin is not None:
                return twin
            incumbent, fallback = self._current_incumbent(), self._as_incumbent(self._baseline)
            return Trial(configuration, candidate, names, self._original, incumbent, fallback)

    def settled(self, trial: Trial, judgement: Judgement) -> Outcome:
        """The outcome, once it is known here who was caught."""
        if judgement.caught and trial.incumbent is not None:
            with self._lock:
                self._caught.add(trial.incumbent.candidate.identity)
                if self._incumbent is trial.incumbent:
                    self._best, self._incumbent = self._baseline, None
        return judgement.outcome

    def _verified_on(self, configuration: Configuration) -> tuple[Workload, ...]:
        """Every tuning workload, and what the tester added where the constraints allow the configuration on it."""
        names = self._builder.binder.names
        return (*self._workloads, *(w for w in self._adversaries if self._space.allows(names(configuration, w))))

    @property
    def _default(self) -> Configuration:
        return self._builder.binder.kernel.default_configuration

    @cached_property
    def _original(self) -> Candidate:
        candidate = self._builder.build(self._default, self._workloads)
        if not isinstance(candidate, Candidate):
            raise BaselineError(f"the original kernel no longer compiles: {candidate.reason}")
        return candidate

    def _current_incumbent(self) -> Incumbent | None:
        """The best evaluation as something to launch; rebuilt (from the cache) after a change or a resume."""
        if self._best is not None and (self._incumbent is None or self._incumbent.score != self._best[1].score):
            self._incumbent = self._as_incumbent(self._best) or self._incumbent
        return self._incumbent

    def _as_incumbent(self, known: tuple[Configuration, Measured] | None) -> Incumbent | None:
        if known is None:
            return None
        configuration, measured = known
        candidate = self._original if configuration == self._default else self._builder.build(configuration, self._workloads)
        if not isinstance(candidate, Candidate):
            return None
        times = {t.workload: Ratio(t.relative, *t.ci95) for t in measured.times}
        return Incumbent(candidate, times, measured.score)


class Evaluator(Desk):
    """Implements `tuning.rounds.search.Evaluate` on one device."""

    def __init__(
        self,
        space: Feasible,
        builder: Builder,
        bench: Bench,
        *,
        rng: np.random.Generator,
        plan: PairPlan | None = None,
        adversaries: Sequence[Workload] = (),
        alone: bool = False,
        emit: Emit = ignore,
    ) -> None:
        super().__init__(space, builder, adversaries=adversaries, alone=alone, emit=emit)
        self._judge = Judge(bench, self.weights, rng=rng, plan=plan, emit=emit)

    def __call__(self, configuration: Configuration) -> Evaluation:
        started_at, began = time.time(), time.perf_counter()
        outcome = self._outcome(configuration)
        return Evaluation(configuration, outcome, time.perf_counter() - began, started_at)

    def _outcome(self, configuration: Configuration) -> Outcome:
        candidate = self.built(configuration)
        if not isinstance(candidate, Candidate):
            return candidate
        asked = self.trial(configuration, candidate)
        return self.settled(asked, self._judge.judge(asked)) if isinstance(asked, Trial) else asked
