"""Direct mode: an agent rewrites the whole kernel repeatedly, without parameters, and each rewrite is evaluated.

The baseline that templates and search are compared with (`tuning.comparison`). Everything but who proposes is the same: a rewrite
is bound, compiled, verified on every tuning workload and timed beside the best so far; one that fails costs an evaluation too.
A rewrite is on record before it is evaluated, so a resumed run neither asks for it again nor skips it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from warpsmith.core.fingerprint import fingerprint
from warpsmith.core.outcome import Evaluation
from warpsmith.record.lessons import Lesson
from warpsmith.record.result import RewriteEntry
from warpsmith.record.run import RoundRecord
from warpsmith.refactor.drafting.draft import Draft
from warpsmith.refactor.proposal import Proposal
from warpsmith.space import Space
from warpsmith.tuning.agent.facts import Roofs, measured_facts
from warpsmith.tuning.agent.planning import Agent, AgentStopped, Attempt, BudgetLeft, Facts
from warpsmith.tuning.context import RunContext
from warpsmith.tuning.evaluation.evaluate import Evaluator
from warpsmith.tuning.evaluation.round import Round
from warpsmith.tuning.events import AgentGaveUp, EvaluationFinished, RoundStarted
from warpsmith.tuning.rounds.benches import Benches
from warpsmith.tuning.rounds.rewrites import REWRITE, Rewrites, rewrite_configuration


class Direct:
    """The rewrites of one run, recorded ones first. Has the face of `tuning.rounds.rounds.Rounds`."""

    def __init__(
        self, context: RunContext, benches: Benches, agent: Agent, baseline: Evaluation, moves: Callable[[], Draft]
    ) -> None:
        self._context = context
        self._moves = moves
        self._agent = agent
        self._baseline = replace(baseline, configuration=rewrite_configuration(0))
        self._rewrites = Rewrites(context.kernel, context.info.limits, context.targets.limits)
        self._builder = self._rewrites.builder(context.pool, context.targets)
        self._evaluate = Evaluator(
            self._rewrites, self._builder, benches.first, rng=context.rng, adversaries=benches.adversaries, emit=context.emit
        )
        self._attempts: list[Attempt] = []
        self.roofs = Roofs()
        self.told: Sequence[tuple[Lesson, float]] = ()  # who rewrites the whole has no rounds to learn from
        self.gave_up: str | None = None

    def search(self) -> tuple[Round, list[Evaluation]]:
        """All rewrites as one round, whose configurations are their numbers, and what came of each."""
        self._begin()
        for about in self._context.store.rounds(self._context.run):
            self._try(Proposal.from_record(dict(about.plan)))
        while not self._spent() and (proposal := self._next()) is not None:
            self._keep(proposal)
            self._try(proposal)
        return self._as_round(), self._known

    @property
    def entries(self) -> Mapping[str, Any]:
        """Fields of the run's result: what was tried, why, and what came of it."""
        tried = tuple(
            RewriteEntry(
                rewrite=attempt.proposal.number,
                hypothesis=attempt.proposal.hypothesis,
                outcome=type(attempt.evaluation.outcome).__name__,
                speedup=round(1 / attempt.evaluation.score, 4) if attempt.evaluation.score else None,
                source=str(self._file(attempt.proposal)),
            )
            for attempt in self._attempts
        )
        return {"rewrites": tried}

    @property
    def _known(self) -> list[Evaluation]:
        return [self._baseline, *(attempt.evaluation for attempt in self._attempts)]

    @property
    def _best(self) -> Evaluation:
        return min((e for e in self._known if e.score is not None), key=lambda e: e.score or 0.0)

    def _spent(self) -> bool:
        return self._context.order.budget.spent(len(self._known), self._context.elapsed_s())

    # ── asking, keeping, trying ──

    def _begin(self) -> None:
        budget = self._context.order.budget
        most = None if budget.evaluations is None else budget.evaluations - 1  # the original was one
        self._context.emit(RoundStarted(1, (REWRITE,), most or 0, most or 0, most))
        self._evaluate.observe(self._baseline)

    def _next(self) -> Proposal | None:
        try:
            proposal = self._agent.rewrite(self._facts(), self._attempts)
        except AgentStopped as stopped:
            self.gave_up = stopped.reason
            self._context.emit(AgentGaveUp(stopped.reason))
            return None
        return None if proposal is None else replace(proposal, number=len(self._attempts) + 1)

    def _keep(self, proposal: Proposal) -> None:
        file = self._write(proposal)
        about = RoundRecord(proposal.number, asdict(proposal), str(file), fingerprint(proposal.source), {})
        self._context.store.begin_round(self._context.run, about)

    def _try(self, proposal: Proposal) -> None:
        """Evaluate a rewrite, or take what the record has of it."""
        context = self._context
        self._rewrites.add(proposal)
        recorded = context.store.evaluations(context.run, proposal.number)
        evaluation = recorded[0] if recorded else self._evaluate(rewrite_configuration(proposal.number))
        if not recorded:
            context.store.append(context.run, evaluation, proposal.number)
        self._evaluate.observe(evaluation)
        self._attempts.append(Attempt(proposal, evaluation))
        left = context.order.budget.seconds_left(len(self._known), context.elapsed_s())
        context.emit(
            EvaluationFinished(len(self._attempts), evaluation, self._best, context.elapsed_s(), left, from_record=bool(recorded))
        )

    def _file(self, proposal: Proposal) -> Path:
        return self._context.folder / "rewrites" / f"{proposal.number:03}" / self._context.kernel.source.name

    def _write(self, proposal: Proposal) -> Path:
        """For people to read: what is compiled is the record's text."""
        file = self._file(proposal)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(proposal.source, encoding="utf-8")
        return file

    # ── what the agent is told, and the run ──

    def _facts(self) -> Facts:
        facts = measured_facts(self._context.kernel, self._context.info, self._baseline, self._known, self.roofs)
        left = BudgetLeft.of(self._context.order.budget, len(self._known), self._context.elapsed_s())
        return replace(facts, moves=self._moves, budget=left)

    def _as_round(self) -> Round:
        template = self._rewrites.template(self._context.folder / "rewrites")
        rows = np.arange(len(template.parameters[0].values)).reshape(-1, 1)
        space = Space.listed(template.parameters, rows, template.default)
        return Round(1, self._rewrites.kernel, template, space, self._builder)
