"""Has an agent write a form of the kernel: what is wrong with it goes back, a bounded number of times, until it is right."""

from __future__ import annotations

from collections.abc import Callable

from warpsmith.core.errors import InputError, UnavailableError
from warpsmith.refactor.proposal import Proposal
from warpsmith.refactor.untouched import untouched
from warpsmith.spec.kernel import Kernel
from warpsmith.tuning.agent.planning import Agent, Facts, Plan, ProposalReport
from warpsmith.tuning.agent.prospects import passes_for
from warpsmith.tuning.agent.relief import Relieved
from warpsmith.tuning.templates.probes import Lab
from warpsmith.tuning.templates.workbench import Workbench

MOST_REPAIRS = 3  # what a model cannot mend in three tries, it seldom mends in ten


def written_form(agent: Agent, facts: Facts, plan: Plan, problem_of: Callable[[Proposal], str | None]) -> ProposalReport | None:
    """The form and what is still wrong with it, if anything; None when the agent leaves the round to the passes."""
    proposal = agent.propose(facts, plan)
    if proposal is None:
        return None
    problem = problem_of(proposal)
    for _ in range(MOST_REPAIRS):
        mended = agent.repair(facts, proposal, problem) if problem is not None else None
        if mended is None:
            break
        proposal, problem = mended, problem_of(mended)
    return ProposalReport(proposal, problem)


def form_by(agent: Agent, kernel: Kernel, lab: Lab) -> ProposalReport:
    """A form from the agent, outside a run: it knows the kernel and the device, but no measurements yet."""
    plain = untouched(kernel)
    facts = Facts(plain, lab.info.limits, None, None, {}, passes=passes_for(plain, lab.info.limits))
    plan = Plan((), "a template was asked for", agent.analyse(facts), write=True)
    found = written_form(agent, facts, plan, Workbench(plain, lab).problem_of)
    if found is not None:
        return found
    if isinstance(agent, Relieved):
        why = agent.stopped or "none of its answers was one"
        raise UnavailableError(f"{agent.name} wrote no form: {why}", hint="--agent rules needs no model")
    raise InputError(f"agent {agent.name!r} writes no forms of its own", hint="--agent rules applies passes; a model can do both")
