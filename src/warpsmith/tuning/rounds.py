"""The rounds of a run: analyse → plan → template → search, until nothing is gained or the budget ends.

Every round's template contains those before it (its passes include theirs), so what was measured in one round is a result of the
next one too, with the new parameters at their defaults: it is carried over, told to the strategy, and never evaluated again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from warpsmith.core.hardware import Counters
from warpsmith.core.outcome import Evaluation
from warpsmith.measure.bench import Candidate
from warpsmith.record.run import RoundRecord
from warpsmith.refactor.proposal import FORM
from warpsmith.search.importance import Importance, importance_of
from warpsmith.spec.kernel import Kernel
from warpsmith.tuning.agent.agenda import Agenda
from warpsmith.tuning.agent.facts import measured_facts
from warpsmith.tuning.agent.planning import BudgetLeft, Facts, ProposalReport, RoundReport
from warpsmith.tuning.budget import Budget
from warpsmith.tuning.evaluate import Evaluator
from warpsmith.tuning.events import EvaluationFinished, RoundFinished, RoundStarted
from warpsmith.tuning.result import round_entries
from warpsmith.tuning.round import Round, make_round
from warpsmith.tuning.search import Evaluate, asked_ahead, search
from warpsmith.tuning.side_by_side import SideBySide
from warpsmith.tuning.warm import warm_strategy
from warpsmith.tuning.workshop import Workshop


class Rounds:
    """The rounds of one run, recorded ones first. Without an agenda the kernel's own template is searched."""

    def __init__(self, shop: Workshop, agenda: Agenda | None, original: Round, baseline: Evaluation) -> None:
        self._shop = shop
        self._agenda = agenda
        self._original = original
        self._baseline = baseline
        self._known = [baseline]
        self._current = original
        self._reports: list[RoundReport] = []
        self.roofline_us: Mapping[str, float] = {}

    def search(self) -> tuple[Round, list[Evaluation]]:
        """The last round and every evaluation of the run, as results of that round."""
        for current in self._each():
            self._current = current
            carried = current.carried(self._known)
            done = self._search_one(current, carried)
            self._known = list({e.configuration: e for e in (*carried, *done)}.values())
            self._finish(current, len(done))
        if self._plans and not self._spent() and len(self._known) < self._current.space.size:
            # No further plan, but budget left: it goes to the last template.
            done = self._search_one(self._current, self._known, rest=True)
            self._known = list({e.configuration: e for e in (*self._known, *done)}.values())
            self._finish(self._current, len(done))
        # A run that was resumed under a time limit may not have asked again for all that it had measured.
        measured = self._current.carried(self._shop.store.evaluations(self._shop.run))
        return self._current, list({e.configuration: e for e in (*self._known, *measured)}.values())

    @property
    def entries(self) -> list[dict[str, Any]]:
        """Of the run's result."""
        return round_entries(self._plans, self._reports)

    @property
    def gave_up(self) -> str | None:
        """Why the agent planned no further, when it could not."""
        return self._agenda.gave_up if self._agenda is not None else None

    @property
    def _plans(self) -> Sequence[RoundRecord]:
        return self._agenda.plans if self._agenda is not None else ()

    # ── which rounds ──

    def _each(self) -> Iterator[Round]:
        if self._agenda is None:
            if not self._spent():
                yield replace(self._original, number=1)
            return
        recorded = self._shop.store.rounds(self._shop.run)
        for about in recorded:
            yield self._round(about.number, self._agenda.recall(about))
        for number in range(len(recorded) + 1, self._shop.order.rounds + 1):
            template = None if self._spent() else self._agenda.next_template(number, self._facts)
            if template is None:
                return
            yield self._round(number, template)

    def _round(self, number: int, template: Kernel) -> Round:
        return make_round(number, template, self._shop.pool, self._shop.info, self._shop.targets)

    @property
    def _evaluated(self) -> int:
        return 1 + sum(r.evaluations for r in self._reports)  # the baseline was one

    def _spent(self) -> bool:
        return self._shop.order.budget.spent(self._evaluated, self._shop.elapsed_s())

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
        best = min((e for e in carried if e.score is not None), key=lambda e: e.score or 0.0, default=self._baseline)

        def report(number: int, evaluation: Evaluation, from_record: bool) -> None:
            nonlocal best
            if evaluation.score is not None and best.score is not None and evaluation.score < best.score:
                best = evaluation
            left = budget.seconds_left(number, shop.elapsed_s())
            shop.emit(EvaluationFinished(number, evaluation, best, shop.elapsed_s(), left, from_record))

        # From the store also when it was just put there: a resumed run then learns from exactly the same.
        sources = shop.store.sources(shop.run)
        with ExitStack() as stack:
            return search(
                warm_strategy(shop.order.strategy, current.space, shop.order.seed, sources),
                self._evaluate(current, stack),
                budget=budget,
                recorded=recorded,
                record=lambda evaluation: shop.store.append(shop.run, evaluation, current.number),
                report=report,
                elapsed_s=shop.elapsed_s,
                known=carried,
                lookahead=asked_ahead(1 + len(shop.more_benches)),
            )

    def _evaluate(self, current: Round, stack: ExitStack) -> Evaluate:
        shop = self._shop
        benches = (shop.bench, *shop.more_benches)
        evaluators = [
            Evaluator(current.space, current.builder, bench, rng=rng, adversaries=shop.adversaries)
            for bench, rng in zip(benches, (shop.rng, *shop.rng.spawn(len(shop.more_benches))), strict=True)
        ]
        return evaluators[0] if len(evaluators) == 1 else stack.enter_context(SideBySide(evaluators, benches))

    def _budget_of(self, number: int, recorded: int) -> Budget:
        """A share of what is left. A round that another one followed was over: it gets what it had, and no more."""
        whole = self._shop.order.budget
        if number < len(self._shop.store.rounds(self._shop.run)):
            return Budget(max(1, recorded), None) if recorded else Budget(1, 1e-9)
        if self._agenda is None:
            return Budget(None if whole.evaluations is None else max(1, whole.evaluations - 1), whole.seconds)
        plan = self._plans[-1].plan
        equal = 1.0 if plan["is_last"] else 1.0 / (self._shop.order.rounds - number + 1)
        return self._rest_of_budget(plan.get("share") or equal)

    def _rest_of_budget(self, share: float) -> Budget:
        whole = self._shop.order.budget
        evaluations = None if whole.evaluations is None else max(1, round(share * (whole.evaluations - self._evaluated)))
        elapsed = self._shop.elapsed_s()
        seconds = None if whole.seconds is None else elapsed + share * max(0.0, whole.seconds - elapsed)
        return Budget(evaluations, seconds)

    def _finish(self, current: Round, evaluations: int) -> None:
        best = min((e.score for e in self._known if e.score is not None), default=1.0)
        about = next((p for p in self._plans if p.number == current.number), None)
        passes = tuple(about.report["applied"]) if about is not None else ()
        reason = about.plan["reason"] if about is not None else "the kernel's own template"
        before = [r for r in self._reports if r.number == current.number]
        self._reports = [r for r in self._reports if r.number != current.number]
        total = evaluations + sum(r.evaluations for r in before)
        self._reports.append(RoundReport(current.number, passes, reason, total, 1 / best))
        self._shop.emit(RoundFinished(current.number, evaluations, 1 / best))

    # ── what the agent is told ──

    def _facts(self) -> Facts:
        assert self._agenda is not None
        measured = measured_facts(self._original.kernel, self._shop.info, self._baseline, self._known, self.roofline_us)
        return replace(
            measured,
            counters=self._counters(),
            importance=self._importance(),
            rounds=tuple(self._reports),
            passes=tuple(self._agenda.passes),
            proposals=tuple(self._judged(report) for report in self._agenda.proposals),
            budget=BudgetLeft.of(
                self._shop.order.budget, self._evaluated, self._shop.elapsed_s(), self._shop.order.rounds - len(self._reports)
            ),
        )

    def _counters(self) -> Mapping[str, Counters]:
        """Of the best so far."""
        if not self._shop.profiler.counts:
            return {}
        best = min((e for e in self._known if e.score is not None), key=lambda e: e.score or 0.0, default=self._baseline)
        built = self._current.builder.build(best.configuration, self._current.kernel.tuning_workloads)
        return self._shop.profiler.of(built) if isinstance(built, Candidate) else {}

    def _judged(self, report: ProposalReport) -> ProposalReport:
        """With how fast the form came to be, as searched so far."""
        scores = [e.score for e in self._known if e.score and dict(e.configuration.pairs).get(FORM) == report.proposal.number]
        return replace(report, speedup=1 / min(scores)) if scores and report.problem is None else report

    def _importance(self) -> Importance | None:
        found = importance_of(self._current.space, self._known) if self._plans else None
        return found if isinstance(found, Importance) else None
