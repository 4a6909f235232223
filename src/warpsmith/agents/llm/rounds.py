"""Converts a model's answers into findings, plan and forms, and summarises them for later turns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from warpsmith.agents.llm.forms import proposal_of, require_new
from warpsmith.agents.llm.plans import plan_of
from warpsmith.agents.llm.problem import Problem
from warpsmith.agents.llm.replies import AnalysisReply, FormReply, RoundReply
from warpsmith.agents.llm.toolbox import Toolbox
from warpsmith.refactor.proposal import Proposal
from warpsmith.tuning.agent.planning import Facts, Finding, Plan


@dataclass(frozen=True, slots=True)
class PlannedRound:
    """An analysis, and what the same answer planned and wrote; `is_planned` is false where it only analysed."""

    round: int
    findings: tuple[Finding, ...]
    is_planned: bool
    plan: Plan | None
    proposals: tuple[Proposal, ...]
    notes: str

    def answers(self, facts: Facts, findings: Sequence[Finding]) -> bool:
        """Whether it is the plan that is asked for; not where one was tried in vain."""
        return self.is_planned and self.round == facts.round and tuple(findings) == self.findings and not facts.in_vain

    @property
    def gist(self) -> str:
        found = "; ".join(finding.text for finding in self.findings) or "nothing"
        planned = "" if not self.is_planned else f" You planned: {self.plan.reason if self.plan is not None else 'to stop'}."
        return f"Round {self.round}: you found {found}.{planned}" + (f" Your notes: {self.notes}" if self.notes else "")


def findings_of(reply: AnalysisReply | RoundReply) -> tuple[Finding, ...]:
    found = [Finding(f.concern, f.text, f.bounded_weight) for f in reply.findings]
    return tuple(sorted(found, key=lambda f: -f.weight))


def planned_round(reply: RoundReply, facts: Facts, tools: Toolbox | None, known: Sequence[Proposal]) -> PlannedRound:
    """Raises Problem."""
    findings = findings_of(reply)
    asked = reply.plan
    plan = plan_of(asked, facts, findings) if asked is not None else None
    wanted = reply.form if plan is not None and plan.write else []
    proposals = forms_of(wanted, facts, tools, facts.next_form, known)
    return PlannedRound(facts.round, findings, asked is not None, plan, proposals, reply.notes)


def forms_of(
    replies: Sequence[FormReply],
    facts: Facts,
    tools: Toolbox | None,
    number: int,
    known: Sequence[Proposal],
    *,
    fixed: bool = False,
) -> tuple[Proposal, ...]:
    """Raises Problem, and says of which form where there are several."""
    found: list[Proposal] = []
    for place, reply in enumerate(replies, start=1):
        try:
            form = form_of(reply, facts, tools, number + len(found), [*known, *found], fixed=fixed)
        except Problem as problem:
            raise Problem(f"form {place} of {len(replies)}: {problem}" if len(replies) > 1 else str(problem)) from None
        found += [form] if form is not None else []
    return tuple(found)


def form_of(
    reply: FormReply, facts: Facts, tools: Toolbox | None, number: int, known: Sequence[Proposal], *, fixed: bool = False
) -> Proposal | None:
    """Raises Problem."""
    if reply.give_up:
        return None
    if reply.tried is not None and tools is None:
        raise Problem("nothing was tried here: give the source")
    completed = tools.completed(reply) if tools is not None else reply
    proposal = proposal_of(completed, facts.kernel, facts.limits, number, fixed=fixed)
    require_new(proposal, known)
    return proposal


def gist_of(findings: tuple[Finding, ...]) -> str:
    return f"As the analyst you found {'; '.join(finding.text for finding in findings) or 'nothing'}."


def gist_of_plan(facts: Facts, plan: Plan | None) -> str:
    return f"Round {facts.round}: you planned {plan.reason if plan is not None else 'to stop'}."


def gist_of_forms(proposals: Sequence[Proposal]) -> str:
    return "\n".join(f"You wrote form {p.number}: {p.hypothesis}" for p in proposals) or "You gave a form up."
