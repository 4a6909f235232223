"""Has an agent write a form of the kernel: what is wrong with it goes back, a bounded number of times, until it is right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from warpsmith.core.errors import InputError, UnavailableError
from warpsmith.refactor.proposal import Proposal
from warpsmith.refactor.untouched import untouched
from warpsmith.spec.kernel import Kernel
from warpsmith.tuning.agent.fallback import WithFallback
from warpsmith.tuning.agent.planning import Agent, Facts, Plan, ProposalReport
from warpsmith.tuning.agent.prospects import passes_for
from warpsmith.tuning.templates.probes import Lab
from warpsmith.tuning.templates.workbench import Workbench

MOST_FORMS = 4  # of one answer: each costs a trial and at least one evaluation
MOST_REPAIRS = 3  # what a model cannot mend in three tries, it seldom mends in ten


def written_forms(
    agent: Agent, facts: Facts, plan: Plan, problem_of: Callable[[Proposal], str | None]
) -> tuple[ProposalReport, ...]:
    """The forms, each with what is still wrong with it, if anything; none when the agent leaves the round to the passes."""
    proposals = agent.propose(facts, plan)[:MOST_FORMS]
    numbered = [replace(proposal, number=number) for number, proposal in enumerate(proposals, start=facts.next_form)]
    return tuple(_mended(agent, facts, proposal, problem_of) for proposal in numbered)


def _mended(agent: Agent, facts: Facts, proposal: Proposal, problem_of: Callable[[Proposal], str | None]) -> ProposalReport:
    problem = problem_of(proposal)
    for _ in range(MOST_REPAIRS):
        mended = agent.repair(facts, proposal, problem) if problem is not None else None
        if mended is None:
            break
        proposal = mended
        problem = problem_of(mended)
    return ProposalReport(proposal, problem)


def form_by(agent: Agent, kernel: Kernel, lab: Lab) -> ProposalReport:
    """A form from the agent, outside a run: it knows the kernel and the device, but no measurements yet."""
    plain = untouched(kernel)
    facts = Facts(plain, lab.info.limits, None, None, {}, passes=passes_for(plain, lab.info.limits))
    plan = Plan((), "a template was requested", agent.analyse(facts), write=True)
    found = written_forms(agent, facts, plan, Workbench(plain, lab).problem_of)
    if found:
        return found[0]
    if isinstance(agent, WithFallback):
        why = agent.stopped or "none of its answers was usable"
        raise UnavailableError(f"{agent.name} wrote no form: {why}", hint="--agent rules needs no model")
    raise InputError(
        f"agent {agent.name!r} writes no forms of its own", hint="--agent rules applies passes; use a model to write forms"
    )
