"""`LlmAgent`: a language model in every role of the protocol, as turns of one conversation; each works without the others."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel

from warpsmith.agents.llm import prompts, rounds
from warpsmith.agents.llm.plans import plan_of
from warpsmith.agents.llm.replies import AnalysisReply, FormReply, FormsReply, PlanReply, RoundReply, TestsReply
from warpsmith.agents.llm.schemas import compact
from warpsmith.agents.llm.told import Told
from warpsmith.agents.llm.toolbox import Toolbox
from warpsmith.agents.llm.workloads import workloads_of
from warpsmith.agents.llm.written_text import fenced
from warpsmith.core.errors import UnavailableError
from warpsmith.isolation.confinement import require_confinement
from warpsmith.record.transcript import Kind, Role
from warpsmith.refactor.proposal import Proposal
from warpsmith.spec.kernel import Workload
from warpsmith.tuning.agent.planning import Attempt, Desk, Facts, Finding, Plan

if TYPE_CHECKING:
    from warpsmith.agents.llm.conversation import Conversation

Answer = TypeVar("Answer")
Reply = TypeVar("Reply", bound=BaseModel)

RECORDED = "replay"  # in the place of a provider: a recorded conversation answers
_LIMITED_PROVIDERS = frozenset({"anthropic", "bedrock"})  # they answer with few tokens unless told otherwise


class LlmAgent:
    """`sleep` waits between attempts; tests do not.

    Where it is analyst and planner, both are one turn; as templater too, it may give the round's form with it.
    """

    def __init__(self, name: str, desk: Desk, *, sleep: Callable[[float], None] = time.sleep) -> None:
        self.name = name
        self._talk = _open(name, desk, sleep)
        self._plans_too = {Role.ANALYST, Role.PLANNER} <= desk.roles
        self._writes_too = Role.TEMPLATER in desk.roles
        self._tried: dict[int, FormReply] = {}
        self._planned: rounds.PlannedRound | None = None  # by the turn that analysed, until it is asked for

    def analyse(self, facts: Facts) -> tuple[Finding, ...]:
        if not self._plans_too:
            return self._ask(
                Role.ANALYST, facts, partial(prompts.analyst, facts), AnalysisReply, rounds.findings_of, rounds.gist_of
            )
        tools = self._toolbox(facts) if self._writes_too else None
        self._planned = self._ask(
            Role.ANALYST,
            facts,
            partial(prompts.round_, facts, writes=self._writes_too),
            RoundReply,
            lambda reply: rounds.planned_round(reply, facts, tools, self._known(facts)),
            lambda planned: planned.gist,
            tools,
        )
        self._talk.memory.has_said(map(fenced, self._planned.proposals))
        return self._planned.findings

    def plan(self, facts: Facts, findings: Sequence[Finding]) -> Plan | None:
        planned = self._planned
        if planned is not None and planned.answers(facts, findings):
            return planned.plan
        self._planned = None
        return self._ask(
            Role.PLANNER,
            facts,
            partial(prompts.planner, facts, findings),
            PlanReply,
            lambda reply: plan_of(reply, facts, findings),
            lambda plan: rounds.gist_of_plan(facts, plan),
        )

    def propose(self, facts: Facts, plan: Plan) -> tuple[Proposal, ...]:
        planned, self._planned = self._planned, None
        if planned is not None and planned.proposals and planned.round == facts.round:
            return planned.proposals
        return self._forms(Role.TEMPLATER, facts, partial(prompts.templater, facts, plan), facts.next_form, self._known(facts))

    def repair(self, facts: Facts, proposal: Proposal, problem: str) -> Proposal | None:
        self._talk.note(Role.TEMPLATER, facts.round, Kind.PROBLEM, f"form {proposal.number}: {problem}")
        worded = partial(prompts.repair, facts, proposal, problem)
        return next(iter(self._forms(Role.TEMPLATER, facts, worded, proposal.number, [proposal])), None)

    def adversaries(self, facts: Facts) -> tuple[Workload, ...]:
        return self._ask(
            Role.TESTER,
            facts,
            partial(prompts.tester, facts),
            TestsReply,
            lambda reply: workloads_of(reply, facts.kernel),
            lambda found: f"As the tester you asked for {', '.join(w.name for w in found) or 'nothing'}.",
            round_=len(facts.rounds),
        )

    def rewrite(self, facts: Facts, attempts: Sequence[Attempt]) -> Proposal | None:
        known = [attempt.proposal for attempt in attempts]
        worded = partial(prompts.author, facts, attempts)
        return next(iter(self._forms(Role.AUTHOR, facts, worded, len(attempts) + 1, known)), None)

    def _forms(
        self, role: Role, facts: Facts, worded: Callable[[Told], str], number: int, known: Sequence[Proposal]
    ) -> tuple[Proposal, ...]:
        """`known` are the forms before these: none of them is worth a second try."""
        tools = None if role is Role.AUTHOR else self._toolbox(facts)

        def read(reply: FormsReply) -> tuple[Proposal, ...]:
            return rounds.forms_of(reply.forms, facts, tools, number, known, fixed=role is Role.AUTHOR)

        # In direct mode every rewrite is a round of its own.
        round_ = number if role is Role.AUTHOR else facts.round
        found = self._ask(role, facts, worded, FormsReply, read, rounds.gist_of_forms, tools, round_=round_)
        self._talk.memory.has_said(map(fenced, found))
        return found

    def _ask(
        self,
        role: Role,
        facts: Facts,
        worded: Callable[[Told], str],
        schema: type[Reply],
        read: Callable[[Reply], Answer],
        gist: Callable[[Answer], str],
        tools: Toolbox | None = None,
        *,
        round_: int | None = None,
    ) -> Answer:
        number = facts.round if round_ is None else round_
        return self._talk.ask(
            role, number, prompts.system(facts), worded, schema, read, gist=gist, guide=self._guide(role, facts), tools=tools
        )

    def _guide(self, role: Role, facts: Facts) -> str:
        match role:
            case Role.TESTER:
                return ""
            case Role.AUTHOR:
                return prompts.guide(facts, plans=False, writes=True, fixed=True)
            case _:
                return prompts.guide(facts, plans=self._plans_too, writes=self._writes_too)

    def _toolbox(self, facts: Facts) -> Toolbox:
        return Toolbox(facts, self._tried)

    @staticmethod
    def _known(facts: Facts) -> list[Proposal]:
        return [report.proposal for report in facts.proposals]


def _answers(roles: frozenset[Role]) -> dict[str, Any]:
    """The schema of every answer that these roles give, in one: it is the same for all turns."""
    asked: dict[Role, type[BaseModel]] = {Role.TESTER: TestsReply, Role.ANALYST: AnalysisReply, Role.PLANNER: PlanReply}
    schemas = [schema for role, schema in asked.items() if role in roles]
    if {Role.TEMPLATER, Role.AUTHOR} & roles:
        schemas.append(RoundReply)
    return compact(*schemas)


def _open(name: str, desk: Desk, sleep: Callable[[float], None]) -> Conversation:
    try:
        import pydantic_ai  # noqa: F401, PLC0415 - an extra
    except ImportError:
        raise UnavailableError(
            f"{name} is a language model, and pydantic-ai is not installed", hint="pip install 'warpsmith[llm]'"
        ) from None
    from warpsmith.agents.llm.conversation import Conversation  # noqa: PLC0415

    provider, _, path = name.partition(":")
    if provider == RECORDED:
        return _replayed(name, Path(path).expanduser(), desk)
    from warpsmith.agents.llm.line import Line  # noqa: PLC0415
    from warpsmith.agents.llm.models import address_of, open_model  # noqa: PLC0415
    from warpsmith.agents.llm.purse import Price, Purse  # noqa: PLC0415
    from warpsmith.agents.llm.window import window_of  # noqa: PLC0415

    model = open_model(name)
    require_confinement()  # what it writes will be compiled and run
    return Conversation(
        name,
        Line(model, desk.seconds_left, sleep),
        Purse(desk.ledger, Price(model.model_name, model.system)),
        desk,
        _answers(desk.roles),
        lambda: window_of(model.model_name, address_of(model)),
        model.system in _LIMITED_PROVIDERS,
    )


def _replayed(name: str, path: Path, desk: Desk) -> Conversation:
    from warpsmith.agents.llm.conversation import Conversation  # noqa: PLC0415
    from warpsmith.agents.llm.purse import Purse  # noqa: PLC0415
    from warpsmith.agents.llm.recording import Recording  # noqa: PLC0415
    from warpsmith.agents.llm.window import Window  # noqa: PLC0415

    recording = Recording(path, desk.seed)
    require_confinement()
    return Conversation(name, recording, Purse(desk.ledger, recording.price), desk, _answers(desk.roles), Window)
