"""The rounds of a run: analyse → plan → template → search, until nothing is gained or the budget ends.

Every round's template contains those before it (its passes include theirs), so what was measured in one round is a result of the
next one too, with the new parameters at their defaults: it is carried over, told to the strategy, and never evaluated again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from warpsmith.core.configuration import Value
from warpsmith.core.hardware import Counters
from warpsmith.core.outcome import Evaluation, Measured
from warpsmith.measure.bench import Candidate
from warpsmith.record.lessons import Lesson
from warpsmith.record.run import RoundRecord
from warpsmith.record.transcript import Kind, Message, Role
from warpsmith.refactor.proposal import FORM
from warpsmith.search.base import Strategy
from warpsmith.space import Space
from warpsmith.spec.kernel import Kernel
from warpsmith.tuning.agent.facts import Roofs, measured_facts
from warpsmith.tuning.agent.features import features_of
from warpsmith.tuning.agent.form_facts import form_facts
from warpsmith.tuning.agent.planning import BudgetLeft, Facts, ProposalReport, RoundReport
from warpsmith.tuning.budget import Budget
from warpsmith.tuning.context import RunContext
from warpsmith.tuning.evaluation.evaluate import Desk, Evaluator
from warpsmith.tuning.evaluation.judge import Judge
from warpsmith.tuning.evaluation.round import Round, make_round
from warpsmith.tuning.evaluation.seats import Seat
from warpsmith.tuning.evaluation.side_by_side import SideBySide
from warpsmith.tuning.events import EvaluationFinished, PreparationStarted, RoundFinished, RoundStarted, Warned
from warpsmith.tuning.result import round_entries
from warpsmith.tuning.rounds.agenda import Agenda, refused_in
from warpsmith.tuning.rounds.benches import Benches
from warpsmith.tuning.rounds.form_race import FormRace
from warpsmith.tuning.rounds.knowledge import is_told, learnt, told_of
from warpsmith.tuning.rounds.search import Evaluate, asked_ahead, asked_ahead_of_machines, search
from warpsmith.tuning.rounds.trials import Trials
from warpsmith.tuning.rounds.warm import warm_strategy


class Rounds:
    """The rounds of one run, recorded ones first. Without an agenda the kernel's own template is searched."""

    def __init__(self, context: RunContext, benches: Benches, agenda: Agenda | None, baseline: Evaluation) -> None:
        self._context = context
        self._benches = benches
        self._agenda = agenda
        self._baseline = baseline
        self._known = [baseline]
        self._current = context.original
        self._reports: list[RoundReport] = []
        self._forms: Mapping[Value, int] = {}  # the sizes of their spaces in the round before
        self._dropped: Mapping[Value, str] = {}
        self.roofs = Roofs()
        self.told: Sequence[tuple[Lesson, float]] = ()  # what was learnt on similar kernels

    def search(self) -> tuple[Round, list[Evaluation]]:
        """The last round and every evaluation of the run, as results of that round."""
        self._ask_for_knowledge()
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
        measured = self._current.carried(self._context.store.evaluations(self._context.run))
        found = list({e.configuration: e for e in (*self._known, *measured)}.values())
        if self._agenda is not None and is_told(self._context.order):
            forms = [self._judged(report) for report in self._agenda.proposals]
            self._context.store.learn(self._context.run, *learnt(self._current.kernel, self._plans, forms, found))
        return self._current, found

    @property
    def entries(self) -> Mapping[str, Any]:
        """Fields of the run's result."""
        plan = round_entries(self._plans, self._reports)
        return {"rounds": max(1, len(plan)), "plan": plan}

    @property
    def gave_up(self) -> str | None:
        """Why the agent planned no further, when it could not."""
        return self._agenda.gave_up if self._agenda is not None else None

    @property
    def _plans(self) -> Sequence[RoundRecord]:
        return self._agenda.plans if self._agenda is not None else ()

    def _ask_for_knowledge(self) -> None:
        if self._agenda is None:
            return
        context, kernel = self._context, self._context.original.kernel
        context.emit(PreparationStarted("first plan"))
        resources = self._baseline.outcome.resources if isinstance(self._baseline.outcome, Measured) else None
        features = features_of(kernel, resources, self.roofs.bounds, self._agenda.accesses(0))
        self.told = told_of(context.store, context.run, context.order.device, features, wanted=is_told(context.order))

    # ── which rounds ──

    def _each(self) -> Iterator[Round]:
        if self._agenda is None:
            if not self._spent():
                yield replace(self._context.original, number=1)
            return
        recorded = self._context.store.rounds(self._context.run)
        for about in recorded:
            yield self._round(about.number, self._agenda.recall(about))
        for number in range(len(recorded) + 1, self._context.order.rounds + 1):
            template = None if self._spent() else self._agenda.next_template(number, self._facts)
            if template is None:
                return
            yield self._round(number, template)

    def _round(self, number: int, template: Kernel) -> Round:
        return make_round(number, template, self._context.pool, self._context.info, self._context.targets)

    @property
    def _evaluated(self) -> int:
        """The baseline was one, and trials count as some."""
        tried = self._trials.evaluations if self._trials is not None else 0
        return 1 + sum(r.evaluations for r in self._reports) + tried

    @property
    def _trials(self) -> Trials | None:
        return self._agenda.trials if self._agenda is not None else None

    def _spent(self) -> bool:
        return self._context.order.budget.spent(self._evaluated, self._context.elapsed_s())

    # ── one round ──

    def _search_one(self, current: Round, carried: Sequence[Evaluation], *, rest: bool = False) -> list[Evaluation]:
        context = self._context
        recorded = {e.configuration: e for e in context.store.evaluations(context.run, current.number)}
        budget = self._rest_of_budget(1.0) if rest else self._budget_of(current.number, len(recorded))
        most = None if budget.evaluations is None else min(budget.evaluations, max(0, current.space.size - len(carried)))
        context.emit(
            RoundStarted(
                current.number,
                tuple(p.name for p in current.kernel.parameters),
                current.space.size,
                current.space.cartesian_size,
                most,
            )
        )
        best = min((e for e in carried if e.score is not None), key=lambda e: e.score or 0.0, default=self._baseline)
        strategy = self._strategy(current, rest=rest)
        told: set[Value] = set(self._dropped)

        def report(number: int, evaluation: Evaluation, from_record: bool) -> None:
            nonlocal best
            if evaluation.score is not None and best.score is not None and evaluation.score < best.score:
                best = evaluation
            left = budget.seconds_left(number, context.elapsed_s())
            context.emit(EvaluationFinished(number, evaluation, best, context.elapsed_s(), left, from_record))
            if isinstance(strategy, FormRace):
                self._dropped = strategy.dropped
                for form in [form for form in self._dropped if form not in told]:
                    told.add(form)
                    if not from_record:
                        text = f"form {form} gets no further evaluations: {self._dropped[form]}"
                        context.note(Message(Role.PLANNER, Kind.DECISION, text, current.number))

        with ExitStack() as stack:
            return search(
                strategy,
                self._evaluate(current, stack),
                budget=budget,
                recorded=recorded,
                record=lambda evaluation: context.store.append(context.run, evaluation, current.number),
                report=report,
                elapsed_s=context.elapsed_s,
                known=carried,
                lookahead=self._asked_ahead,
            )

    def _strategy(self, current: Round, *, rest: bool) -> Strategy:
        """Forms that an agent wrote are raced. An earlier run that this one learns from had others: it tells of the original."""
        order = self._context.order
        # From the store also when it was just put there: a resumed run then learns from exactly the same.
        sources = self._context.store.sources(self._context.run)
        if not (current.kernel.template_foreign and any(p.name == FORM for p in current.kernel.parameters)):
            self._forms = {0: current.space.size}
            return warm_strategy(order.strategy, current.space, order.seed, sources)

        def start(form: Value, space: Space) -> Strategy:
            return warm_strategy(order.strategy, space, order.seed, sources if form == 0 else ())

        race = FormRace(current.space, start, self._forms, drops=not rest)
        self._forms = race.sizes
        return race

    def _evaluate(self, current: Round, stack: ExitStack) -> Evaluate:
        context = self._context
        found = self._benches
        if not (found.more or found.seats):
            return Evaluator(
                current.space,
                current.builder,
                found.first,
                rng=context.rng,
                adversaries=found.adversaries,
                alone=True,
                emit=context.emit,
            )
        desk = Desk(current.space, current.builder, adversaries=found.adversaries, emit=context.emit)
        rngs = (context.rng, *context.rng.spawn(len(found.more)))
        judges: list[Seat] = [
            Judge(bench, desk.weights, rng=rng, emit=context.emit)
            for bench, rng in zip((found.first, *found.more), rngs, strict=True)
        ]
        return stack.enter_context(
            SideBySide(desk, [*judges, *found.seats], at_once=self._asked_ahead, notice=lambda text: context.emit(Warned(text)))
        )

    @property
    def _asked_ahead(self) -> int:
        order, devices = self._context.order, 1 + len(self._benches.more)
        return asked_ahead_of_machines(devices + order.places) if order.places else asked_ahead(devices)

    def _budget_of(self, number: int, recorded: int) -> Budget:
        """A share of what is left. A round that another one followed was over: it gets what it had, and no more."""
        whole = self._context.order.budget
        if number < len(self._context.store.rounds(self._context.run)):
            return Budget(max(1, recorded), None) if recorded else Budget(1, 1e-9)
        if self._agenda is None:
            return Budget(None if whole.evaluations is None else max(1, whole.evaluations - 1), whole.seconds)
        plan = self._plans[-1].plan
        equal = 1.0 if plan["is_last"] else 1.0 / (self._context.order.rounds - number + 1)
        return self._rest_of_budget(plan.get("share") or equal)

    def _rest_of_budget(self, share: float) -> Budget:
        whole = self._context.order.budget
        evaluations = None if whole.evaluations is None else max(1, round(share * (whole.evaluations - self._evaluated)))
        elapsed = self._context.elapsed_s()
        seconds = None if whole.seconds is None else elapsed + share * max(0.0, whole.seconds - elapsed)
        return Budget(evaluations, seconds)

    def _finish(self, current: Round, evaluations: int) -> None:
        measured = [e.outcome for e in self._known if isinstance(e.outcome, Measured)]
        best = min(measured, key=lambda outcome: outcome.score, default=None)
        speedup, ci95 = (1 / best.score, best.speedup_ci95) if best is not None else (1.0, None)
        about = next((p for p in self._plans if p.number == current.number), None)
        passes = tuple(about.report["applied"]) if about is not None else ()
        reason = about.plan["reason"] if about is not None else "the kernel's own template"
        before = [r for r in self._reports if r.number == current.number]
        self._reports = [r for r in self._reports if r.number != current.number]
        total = evaluations + sum(r.evaluations for r in before)
        refused = refused_in(about) if about is not None else {}
        self._reports.append(RoundReport(current.number, passes, reason, total, speedup, ci95, refused))
        self._context.emit(RoundFinished(current.number, evaluations, speedup, ci95))

    # ── what the agent is told ──

    def _facts(self) -> Facts:
        assert self._agenda is not None
        measured = measured_facts(self._context.original.kernel, self._context.info, self._baseline, self._known, self.roofs)
        left = BudgetLeft.of(
            self._context.order.budget,
            self._evaluated,
            self._context.elapsed_s(),
            self._context.order.rounds - len(self._reports),
        )
        forms, trials = [report.proposal for report in self._agenda.proposals], self._trials
        return replace(
            measured,
            counters=self._counters(),
            forms=form_facts(self._current.space, self._known, self._agenda.kept, self._agenda.accesses),
            rounds=tuple(self._reports),
            passes=tuple(self._agenda.passes),
            proposals=tuple(self._judged(report) for report in self._agenda.proposals),
            budget=left,
            known=self.told,
            tools=trials.stand(len(self._reports) + 1, forms, self._known, left, self._incumbent) if trials is not None else None,
        )

    def _incumbent(self) -> tuple[Candidate | None, Evaluation]:
        """The best so far, as something to launch."""
        best = min((e for e in self._known if e.score is not None), key=lambda e: e.score or 0.0, default=self._baseline)
        built = self._current.builder.build(best.configuration, self._current.kernel.tuning_workloads)
        return (built if isinstance(built, Candidate) else None), best

    def _counters(self) -> Mapping[str, Counters]:
        """Of the best so far."""
        if not self._benches.profiler.counts:
            return {}
        best, _ = self._incumbent()
        return self._benches.profiler.of(best) if best is not None else {}

    def _judged(self, report: ProposalReport) -> ProposalReport:
        """With how fast the form came to be, as searched so far."""
        scores = [e.score for e in self._known if e.score and dict(e.configuration.pairs).get(FORM) == report.proposal.number]
        if not scores or report.problem is not None:
            return report
        return replace(report, speedup=1 / min(scores), dropped=self._dropped.get(report.proposal.number))
