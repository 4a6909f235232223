"""The rounds of a run: analyse → plan → template → search, until nothing is gained or the budget ends.

Every round's template contains those before it (its passes include theirs), so what was measured in one round is a result of the
next one too, with the new parameters at their defaults: it is carried over, told to the strategy, and never evaluated again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from warpsmith.compile.pool import CompilePool
from warpsmith.core.errors import InputError, Location
from warpsmith.core.outcome import Evaluation, Measured
from warpsmith.devices.base import DeviceInfo
from warpsmith.measure.bench import Bench
from warpsmith.record.store import RoundRecord, Store
from warpsmith.search.importance import Importance, importance_of
from warpsmith.spec.load import load_kernel
from warpsmith.tuning.budget import Budget
from warpsmith.tuning.evaluate import Evaluator
from warpsmith.tuning.events import Emit, EvaluationFinished, RoundFinished, RoundPlanned, RoundStarted
from warpsmith.tuning.order import Order, kernel_fingerprint
from warpsmith.tuning.planning import Agent, Facts, RoundReport
from warpsmith.tuning.prospects import passes_for
from warpsmith.tuning.round import Round, make_round
from warpsmith.tuning.search import search
from warpsmith.tuning.warm import warm_strategy

# Applies passes to the untouched kernel and writes the result into a folder: its kernel.toml, and a report of every pass.
MakeTemplate: TypeAlias = Callable[[Sequence[str], Path], tuple[Path, Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class Workshop:
    """What the rounds of one run work with."""

    run: str
    order: Order
    store: Store
    pool: CompilePool
    info: DeviceInfo
    bench: Bench
    rng: np.random.Generator
    emit: Emit
    elapsed_s: Callable[[], float]
    folder: Path  # of the run


class Rounds:
    """The rounds of one run, recorded ones first. `agent` is None for a run that searches the kernel's own template."""

    def __init__(
        self, shop: Workshop, agent: Agent | None, original: Round, baseline: Evaluation, make_template: MakeTemplate
    ) -> None:
        self._shop = shop
        self._agent = agent
        self._original = original
        self._make_template = make_template
        self._baseline = baseline
        self._known = [baseline]
        self._current = original
        self.reports: list[RoundReport] = []
        self._passes = passes_for(original.kernel, shop.info.limits) if agent is not None else []
        self.roofline_us: Mapping[str, float] = {}
        self.plans: list[RoundRecord] = []

    def search(self) -> tuple[Round, list[Evaluation]]:
        """The last round and every evaluation of the run, as results of that round."""
        for current in self._each():
            self._current = current
            carried = current.carried(self._known)
            done = self._search_one(current, carried)
            self._known = list({e.configuration: e for e in (*carried, *done)}.values())
            self._finish(current, len(done))
        if self.plans and not self._spent():
            # No further plan, but budget left: it goes to the last template.
            done = self._search_one(self._current, self._known, rest=True)
            self._known = list({e.configuration: e for e in (*self._known, *done)}.values())
            self._finish(self._current, len(done))
        # A run that was resumed under a time limit may not have asked again for all that it had measured.
        measured = self._current.carried(self._shop.store.evaluations(self._shop.run))
        return self._current, list({e.configuration: e for e in (*self._known, *measured)}.values())

    # ── which rounds ──

    def _each(self) -> Iterator[Round]:
        if self._agent is None:
            if not self._spent():
                yield replace(self._original, number=1)
            return
        recorded = self._shop.store.rounds(self._shop.run)
        for about in recorded:
            yield self._recorded(about)
        for number in range(len(recorded) + 1, self._shop.order.rounds + 1):
            if self._spent():
                return
            planned = self._planned(number, self._agent)
            if planned is None:
                return
            yield planned

    @property
    def _evaluated(self) -> int:
        return 1 + sum(r.evaluations for r in self.reports)  # the baseline was one

    def _spent(self) -> bool:
        return self._shop.order.budget.spent(self._evaluated, self._shop.elapsed_s())

    def _recorded(self, about: RoundRecord) -> Round:
        kernel = load_kernel(Path(about.kernel_path))
        if kernel_fingerprint(kernel) != about.fingerprint:
            raise InputError(
                f"the template of round {about.number} changed since run {self._shop.run} searched it",
                location=Location(kernel.path),
                hint="start a new run with `warpsmith tune`, or bring the file back",
            )
        self._note(about)
        return make_round(about.number, kernel, self._shop.pool, self._shop.info)

    def _planned(self, number: int, agent: Agent) -> Round | None:
        facts = self._facts()
        while (plan := agent.plan(facts, agent.analyse(facts))) is not None:
            self._shop.emit(RoundPlanned(number, plan))
            path, report = self._make_template(plan.passes, self._shop.folder / f"round-{number}")
            kernel = load_kernel(path)
            about = RoundRecord(number, asdict(plan), str(kernel.path), kernel_fingerprint(kernel), report)
            self._note(about)
            if any(p.applied_in == number for p in self._passes):
                self._shop.store.begin_round(self._shop.run, about)
                return make_round(number, kernel, self._shop.pool, self._shop.info)
            facts = self._facts()  # nothing new applied: plan again, knowing that
        return None

    def _note(self, about: RoundRecord) -> None:
        """Which passes did what, as the template's report says."""
        self.plans = [p for p in self.plans if p.number != about.number] + [about]
        applied, declined = set(about.report["applied"]), dict(about.report["declined"])
        self._passes = [
            replace(p, applied_in=about.number)
            if p.name in applied and p.applied_in is None
            else replace(p, declined=declined[p.name])
            if p.name in declined and p.applied_in is None
            else p
            for p in self._passes
        ]

    # ── one round ──

    def _search_one(self, current: Round, carried: Sequence[Evaluation], *, rest: bool = False) -> list[Evaluation]:
        shop = self._shop
        recorded = {e.configuration: e for e in shop.store.evaluations(shop.run, current.number)}
        budget = self._rest_of_budget(1.0) if rest else self._budget_of(current.number, len(recorded))
        most = None if budget.evaluations is None else min(budget.evaluations, max(0, current.space.size - len(carried)))
        shop.emit(
            RoundStarted(
                current.number,
                tuple(p.name for p in current.kernel.parameters),
                current.space.size,
                current.space.cartesian_size,
                most,
            )
        )
        evaluator = Evaluator(current.space, current.builder, shop.bench, rng=shop.rng)
        best = min((e for e in carried if e.score is not None), key=lambda e: e.score or 0.0, default=self._baseline)

        def report(number: int, evaluation: Evaluation, from_record: bool) -> None:
            nonlocal best
            if evaluation.score is not None and best.score is not None and evaluation.score < best.score:
                best = evaluation
            left = budget.seconds_left(number, shop.elapsed_s())
            shop.emit(EvaluationFinished(number, evaluation, best, shop.elapsed_s(), left, from_record))

        # From the store also when it was just put there: a resumed run then learns from exactly the same.
        sources = shop.store.sources(shop.run)
        return search(
            warm_strategy(shop.order.strategy, current.space, shop.order.seed, sources),
            evaluator,
            budget=budget,
            recorded=recorded,
            record=lambda evaluation: shop.store.append(shop.run, evaluation, current.number),
            report=report,
            elapsed_s=shop.elapsed_s,
            known=carried,
        )

    def _budget_of(self, number: int, recorded: int) -> Budget:
        """A share of what is left. A round that another one followed was over: it gets what it had, and no more."""
        whole = self._shop.order.budget
        if number < len(self._shop.store.rounds(self._shop.run)):
            return Budget(max(1, recorded), None) if recorded else Budget(1, 1e-9)
        if self._agent is None:
            return Budget(None if whole.evaluations is None else max(1, whole.evaluations - 1), whole.seconds)
        return self._rest_of_budget(1.0 if self.plans[-1].plan["is_last"] else 1.0 / (self._shop.order.rounds - number + 1))

    def _rest_of_budget(self, share: float) -> Budget:
        whole = self._shop.order.budget
        evaluations = None if whole.evaluations is None else max(1, round(share * (whole.evaluations - self._evaluated)))
        elapsed = self._shop.elapsed_s()
        seconds = None if whole.seconds is None else elapsed + share * max(0.0, whole.seconds - elapsed)
        return Budget(evaluations, seconds)

    def _finish(self, current: Round, evaluations: int) -> None:
        best = min((e.score for e in self._known if e.score is not None), default=1.0)
        about = next((p for p in self.plans if p.number == current.number), None)
        passes = tuple(about.report["applied"]) if about is not None else ()
        reason = about.plan["reason"] if about is not None else "the kernel's own template"
        before = [r for r in self.reports if r.number == current.number]
        self.reports = [r for r in self.reports if r.number != current.number]
        total = evaluations + sum(r.evaluations for r in before)
        self.reports.append(RoundReport(current.number, passes, reason, total, 1 / best))
        self._shop.emit(RoundFinished(current.number, evaluations, 1 / best))

    # ── what the agent is told ──

    def _facts(self) -> Facts:
        measured = [(e, e.outcome) for e in self._known if isinstance(e.outcome, Measured)]
        best, outcome = min(measured, key=lambda pair: pair[1].score)
        baseline = self._baseline.outcome
        roof = self.roofline_us
        fractions = {t.workload: roof[t.workload] / t.median_us for t in outcome.times if t.workload in roof}
        return Facts(
            kernel=self._original.kernel,
            limits=self._shop.info.limits,
            baseline=baseline.resources if isinstance(baseline, Measured) else None,
            best=outcome.resources,
            roofline_fraction=fractions,
            best_configuration=dict(best.configuration.pairs),
            importance=self._importance(),
            failures=Counter(type(e.outcome).__name__ for e in self._known if not isinstance(e.outcome, Measured)),
            rounds=tuple(self.reports),
            passes=tuple(self._passes),
        )

    def _importance(self) -> Importance | None:
        if not self.plans:
            return None
        found = importance_of(self._current.space, self._known)
        return found if isinstance(found, Importance) else None
