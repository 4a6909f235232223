"""`LlmAgent`: a language model in every role of the protocol. Each role is one question, and works without the others."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from warpsmith.agents.llm import prompts
from warpsmith.agents.llm.forms import proposal_of, require_new
from warpsmith.agents.llm.plans import plan_of
from warpsmith.agents.llm.replies import AnalysisReply, FormReply, PlanReply, TestsReply
from warpsmith.agents.llm.workloads import workloads_of
from warpsmith.core.errors import UnavailableError
from warpsmith.isolation.confinement import require_confinement
from warpsmith.record.transcript import Kind, Role
from warpsmith.refactor.proposal import Proposal
from warpsmith.spec.kernel import Workload
from warpsmith.tuning.agent.planning import Attempt, Desk, Facts, Finding, Plan

if TYPE_CHECKING:
    from warpsmith.agents.llm.conversation import Conversation

_LIMITED_PROVIDERS = frozenset({"anthropic", "bedrock"})  # they answer with few tokens unless told otherwise


class LlmAgent:
    """`sleep` waits between attempts; tests do not."""

    def __init__(self, name: str, desk: Desk, *, sleep: Callable[[float], None] = time.sleep) -> None:
        self.name = name
        self._talk = _open(name, desk, sleep)

    def analyse(self, facts: Facts) -> tuple[Finding, ...]:
        def read(reply: AnalysisReply) -> tuple[Finding, ...]:
            found = [Finding(f.concern, f.text, f.bounded_weight) for f in reply.findings]
            return tuple(sorted(found, key=lambda f: -f.weight))

        return self._talk.ask(Role.ANALYST, facts.round, prompts.analyst(facts), AnalysisReply, read)

    def plan(self, facts: Facts, findings: Sequence[Finding]) -> Plan | None:
        def read(reply: PlanReply) -> Plan | None:
            return plan_of(reply, facts, findings)

        return self._talk.ask(Role.PLANNER, facts.round, prompts.planner(facts, findings), PlanReply, read)

    def propose(self, facts: Facts, plan: Plan) -> Proposal | None:
        number = max((report.proposal.number for report in facts.proposals), default=0) + 1
        known = [report.proposal for report in facts.proposals]
        return self._form(Role.TEMPLATER, facts, prompts.templater(facts, plan), number, known)

    def repair(self, facts: Facts, proposal: Proposal, problem: str) -> Proposal | None:
        self._talk.note(Role.TEMPLATER, facts.round, Kind.PROBLEM, f"form {proposal.number}: {problem}")
        return self._form(Role.TEMPLATER, facts, prompts.repair(facts, proposal, problem), proposal.number, [proposal])

    def adversaries(self, facts: Facts) -> tuple[Workload, ...]:
        def read(reply: TestsReply) -> tuple[Workload, ...]:
            return workloads_of(reply, facts.kernel)

        return self._talk.ask(Role.TESTER, len(facts.rounds), prompts.tester(facts), TestsReply, read)

    def rewrite(self, facts: Facts, attempts: Sequence[Attempt]) -> Proposal | None:
        known = [attempt.proposal for attempt in attempts]
        return self._form(Role.AUTHOR, facts, prompts.author(facts, attempts), len(attempts) + 1, known)

    def _form(self, role: Role, facts: Facts, question: str, number: int, known: Sequence[Proposal]) -> Proposal | None:
        """`known` are the forms before this one: none of them is worth a second try."""

        def read(reply: FormReply) -> Proposal | None:
            if reply.give_up:
                return None
            proposal = proposal_of(reply, facts.kernel, facts.limits, number, fixed=role is Role.AUTHOR)
            require_new(proposal, known)
            return proposal

        # In direct mode every rewrite is a round of its own.
        return self._talk.ask(role, number if role is Role.AUTHOR else facts.round, question, FormReply, read)


def _open(name: str, desk: Desk, sleep: Callable[[float], None]) -> Conversation:
    try:
        import pydantic_ai  # noqa: F401, PLC0415 - an extra
    except ImportError:
        raise UnavailableError(
            f"{name} is a language model, and pydantic-ai is not installed", hint="pip install 'warpsmith[llm]'"
        ) from None
    from warpsmith.agents.llm.conversation import Conversation  # noqa: PLC0415
    from warpsmith.agents.llm.line import Line  # noqa: PLC0415
    from warpsmith.agents.llm.models import open_model  # noqa: PLC0415
    from warpsmith.agents.llm.purse import Price, Purse  # noqa: PLC0415

    model = open_model(name)
    require_confinement()  # what it writes will be compiled and run
    purse = Purse(desk.ledger, Price(model.model_name, model.system))
    limited = model.system in _LIMITED_PROVIDERS
    return Conversation(name, Line(model, desk.seconds_left, sleep), purse, desk, limited)
