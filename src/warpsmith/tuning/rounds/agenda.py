"""An agent's plans and forms in a run, their results, and the conversion of the next plan into a template.

Every round's template contains those before it: the passes that applied and the forms that were kept stay.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from warpsmith.record.run import RoundRecord
from warpsmith.record.transcript import Kind, Message, Role
from warpsmith.refactor.proposal import FORM, PROPOSALS, Proposal, with_own_names
from warpsmith.source.lane_strides import Access
from warpsmith.spec.kernel import Kernel
from warpsmith.spec.load import load_kernel
from warpsmith.tuning.agent.planning import Agent, AgentStopped, Facts, PassReport, Plan, ProposalReport
from warpsmith.tuning.context import RunContext
from warpsmith.tuning.events import AgentGaveUp, PassesPostponed, RoundPlanned
from warpsmith.tuning.order import kernel_fingerprint, round_kernel
from warpsmith.tuning.rounds.trials import Trials
from warpsmith.tuning.rounds.writing import written_forms
from warpsmith.tuning.templates.effort import Effort
from warpsmith.tuning.templates.workbench import Templating

_MOST_PLANS = 3  # for one round, when nothing of what was planned applies
_SHARE_OF_TIME = 0.3  # of what a run has left, for a round's template


class Agenda:
    """`plans` are the rounds that began; `gave_up` says why the agent plans no further, when it could not."""

    def __init__(
        self,
        context: RunContext,
        agent: Agent,
        templating: Templating,
        passes: Sequence[PassReport],
        trials: Trials | None = None,
    ) -> None:
        self.trials = trials
        self._context = context
        self._agent = agent
        self._templating = templating
        self.passes = list(passes)
        self.proposals: list[ProposalReport] = []
        self.plans: list[RoundRecord] = []
        self.gave_up: str | None = None
        self._took_s = 0.0  # to make the last template
        self._accesses: dict[int, tuple[Access, ...]] = {}
        self._parameters: list[str] = []  # of the templates so far: what was measured in one round counts in the next

    def recall(self, about: RoundRecord) -> Kernel:
        """The template of a round that an earlier part of the run began."""
        kernel = round_kernel(about, self._context.run)
        self._begin(about, kernel)
        return kernel

    def next_template(self, number: int, facts: Callable[[], Facts]) -> Kernel | None:
        """The template of the next round, on record when this returns.

        None when the agent has nothing more to try, or when making it would leave too little time to search it.
        """
        time_for_it = self._time_for_a_template()
        if time_for_it is not None and time_for_it < self._took_s:  # the next one contains the last: it takes no less
            self._decided(number, Role.PLANNER, "no further template: the remaining time goes to searching the last one")
            return None
        try:
            findings = self._agent.analyse(facts())  # once: nothing is measured between the plans of a round
            in_vain: list[str] = []
            for _ in range(_MOST_PLANS):
                known = replace(facts(), in_vain=tuple(in_vain))
                plan = self._agent.plan(known, findings)
                if plan is None:
                    self._decided(number, Role.PLANNER, f"no further round: the agent asks for nothing more{_standing(known)}")
                    return None
                self._context.emit(RoundPlanned(number, plan))
                self._decided(number, Role.PLANNER, plan.reason)
                planned = replace(plan, proposals=self._written(number, known, plan))
                kernel = self._templated(number, planned)
                if kernel is not None:
                    return kernel
                in_vain.append(self._in_vain(planned))
        except AgentStopped as stopped:
            self.gave_up = stopped.reason
            self._decided(number, Role.PLANNER, f"the agent cannot go on: {stopped.reason}")
            self._context.emit(AgentGaveUp(stopped.reason))
        return None

    def _written(self, number: int, facts: Facts, plan: Plan) -> tuple[Proposal, ...]:
        """The forms that the agent writes for the round, once they are right; one that stays wrong is remembered as such."""
        written = written_forms(self._agent, facts, plan, self._templating.problem_of) if plan.write else ()
        right = []
        for found in written:
            form = f"form {found.proposal.number} ({found.proposal.hypothesis})"
            if found.problem is None:
                self._judged(number, f"{form} compiles and is correct on the smallest workloads: it will be searched")
                right.append(found.proposal)
            else:
                self.proposals.append(found)
                self._judged(number, f"{form} is dropped: {found.problem}")
        return tuple(with_own_names(right, self._parameters, self.kept))

    @property
    def kept(self) -> list[Proposal]:
        """The forms that are searched."""
        return [report.proposal for report in self.proposals if report.problem is None]

    def accesses(self, form: int) -> tuple[Access, ...]:
        """How far apart neighbouring threads touch memory in a form, or (0) in the kernel itself."""
        if form not in self._accesses:
            written = next((proposal for proposal in self.kept if proposal.number == form), None)
            self._accesses[form] = self._templating.accesses(written)
        return self._accesses[form]

    def _templated(self, number: int, plan: Plan) -> Kernel | None:
        """None when nothing new came of the plan: the agent plans again, knowing that."""
        before = [p.name for p in self.passes if p.applied_in is not None]
        plan = replace(plan, passes=tuple(dict.fromkeys((*before, *plan.passes))))
        folder, started_s = self._context.folder / f"round-{number}", self._context.elapsed_s()
        # What is evaluated is verified then: no need to try it beforehand.
        effort = Effort(combinations=0, seconds=self._time_for_a_template(), needed=frozenset({*before, PROPOSALS}))
        path, report = self._templating.make(plan.passes, [*self.kept, *plan.proposals], folder, effort)
        self._took_s = self._context.elapsed_s() - started_s
        kernel = load_kernel(path)
        waiting = [name for name in plan.passes if name not in report["applied"] and name not in report["declined"]]
        plan = replace(plan, is_last=plan.is_last and not waiting)
        report = {**report, "postponed": waiting}
        about = RoundRecord(number, asdict(plan), str(kernel.path), kernel_fingerprint(kernel), report)
        self._learn(about)
        new = [name for name in report["applied"] if name not in before and name != PROPOSALS]
        self._tell(number, new, plan.refused, report)
        forms = next((p.values for p in kernel.parameters if p.name == FORM), ())
        if not new and not any(proposal.number in forms for proposal in plan.proposals):
            return None
        self._context.store.begin_round(self._context.run, about)
        self._begin(about, kernel)
        return kernel

    def _in_vain(self, plan: Plan) -> str:
        """What a plan asked for of which nothing came, with the reasons."""
        asked = [p for p in self.passes if p.name in plan.passes and p.applied_in is None]
        parts = [f"{p.name}: {p.declined or 'changed nothing'}" for p in asked]
        parts += [f"{name}: {reason}" for name, reason in plan.refused.items()]
        if plan.write:
            written = bool(plan.proposals)
            parts.append("the written form exceeds a device limit" if written else "no usable form was written")
        return "; ".join(parts) or "every pass was applied before"

    def _time_for_a_template(self) -> float | None:
        """In seconds; None without a limit. The search needs most of what is left."""
        whole = self._context.order.budget.seconds
        return None if whole is None else _SHARE_OF_TIME * max(0.0, whole - self._context.elapsed_s())

    def _tell(self, number: int, new: Sequence[str], refused_before: Mapping[str, str], report: Mapping[str, Any]) -> None:
        refused = [f"{name}: {reason}" for name, reason in {**refused_before, **report["declined"]}.items()]
        self._decided(number, Role.TEMPLATER, "\n".join([f"applied {', '.join(new) or 'no new pass'}", *refused]))
        if waiting := report["postponed"]:
            self._decided(number, Role.TEMPLATER, f"postponed to a later round for lack of time: {', '.join(waiting)}")
            self._context.emit(PassesPostponed(tuple(waiting)))

    def _learn(self, about: RoundRecord) -> None:
        """Which passes did what, as the template's report says."""
        applied, declined = set(about.report["applied"]), dict(about.report["declined"])
        for place, known in enumerate(self.passes):
            if known.applied_in is None and known.name in applied:
                self.passes[place] = replace(known, applied_in=about.number)
            elif known.applied_in is None and known.name in declined:
                self.passes[place] = replace(known, declined=declined[known.name])

    def _begin(self, about: RoundRecord, kernel: Kernel) -> None:
        self.plans.append(about)
        self._parameters = list(dict.fromkeys([*self._parameters, *(parameter.name for parameter in kernel.parameters)]))
        # Rounds of earlier versions know of no proposals.
        written = [Proposal.from_record(entry) for entry in about.plan.get("proposals", ())]
        self.proposals += [ProposalReport(proposal) for proposal in written]
        for proposal in written:
            self.passes += self._templating.passes_on(proposal)
        self._learn(about)

    def _judged(self, number: int, text: str) -> None:
        """What became of the agent's own work: under its name, so that who watches the run is told."""
        self._context.note(Message(Role.TEMPLATER, Kind.DECISION, text, number, self._agent.name))

    def _decided(self, number: int, role: Role, text: str) -> None:
        self._context.note(Message(role, Kind.DECISION, text, number))


def refused_in(about: RoundRecord) -> dict[str, str]:
    """Passes that the round's plan asked for of which nothing came, and why."""
    declined = {name: reason for name, reason in about.report["declined"].items() if name in about.plan["passes"]}
    return {**about.plan.get("refused", {}), **declined}


def _standing(facts: Facts) -> str:
    """How far the best so far is, where that is known."""
    fractions = facts.roofline_fraction
    return f", at {min(fractions.values()):.0%} of the roofline or more" if fractions else ""
