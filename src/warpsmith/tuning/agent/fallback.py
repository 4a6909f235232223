"""Fallback agent: where the one that was asked for cannot answer, the fallback does, and the record says so.

A model that is away, out of money or never understood leaves a budget that the rules can still make something of. One question
without a usable answer is the fallback's for once; a model that cannot be asked, or was not understood several times in a row, is
not asked again. What it had said by then stays: its plan is carried out, its forms are searched.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from warpsmith.record.transcript import Kind, Message, Role
from warpsmith.refactor.proposal import Proposal
from warpsmith.spec.kernel import Workload
from warpsmith.tuning.agent.planning import Agent, AgentStopped, Attempt, Desk, Facts, Finding, Plan, Unanswered

_MOST_UNANSWERED = 3  # questions in a row
_LEAST_SECONDS = 5.0  # with less left a fallback's template would come too late

Answer = TypeVar("Answer")


class LeavesUndone:
    """A fallback that leaves things undone: what was found so far is searched, what was not written is not there."""

    name = "nobody"

    def analyse(self, facts: Facts) -> tuple[Finding, ...]:  # noqa: ARG002 - as all below: asked in vain
        return ()

    def plan(self, facts: Facts, findings: Sequence[Finding]) -> Plan | None:  # noqa: ARG002
        return None

    def propose(self, facts: Facts, plan: Plan) -> Sequence[Proposal]:  # noqa: ARG002
        return ()

    def repair(self, facts: Facts, proposal: Proposal, problem: str) -> Proposal | None:  # noqa: ARG002
        return None

    def adversaries(self, facts: Facts) -> tuple[Workload, ...]:  # noqa: ARG002
        return ()

    def rewrite(self, facts: Facts, attempts: Sequence[Attempt]) -> Proposal | None:  # noqa: ARG002
        return None


class WithFallback:
    """`stopped` says why the agent is not asked any more, and who went on in its place; None while it is asked."""

    def __init__(self, agent: Agent, fallback: Agent, desk: Desk) -> None:
        self.name = agent.name
        self.stopped: str | None = None
        self._agent = agent
        self._fallback = fallback
        self._desk = desk
        self._unanswered = 0
        self._too_late = False

    def analyse(self, facts: Facts) -> tuple[Finding, ...]:
        return self._ask(Role.ANALYST, facts.round, lambda agent: agent.analyse(facts))

    def plan(self, facts: Facts, findings: Sequence[Finding]) -> Plan | None:
        def of(agent: Agent) -> Plan | None:
            if agent is not self._fallback:
                return agent.plan(facts, findings)
            return agent.plan(facts, findings or agent.analyse(facts))

        plan = self._ask(Role.PLANNER, facts.round, of)
        if plan is None and not facts.rounds and self._answered and not isinstance(self._fallback, LeavesUndone):
            # Who has tried nothing cannot know that nothing is worth trying.
            self._note(Role.PLANNER, facts.round, f"{self.name} proposes nothing: agent {self._fallback.name} plans the round")
            return of(self._fallback)
        return plan

    def propose(self, facts: Facts, plan: Plan) -> Sequence[Proposal]:
        return self._ask(Role.TEMPLATER, facts.round, lambda agent: agent.propose(facts, plan))

    def repair(self, facts: Facts, proposal: Proposal, problem: str) -> Proposal | None:
        return self._ask(Role.TEMPLATER, facts.round, lambda agent: agent.repair(facts, proposal, problem))

    def adversaries(self, facts: Facts) -> tuple[Workload, ...]:
        return self._ask(Role.TESTER, 0, lambda agent: agent.adversaries(facts))

    def rewrite(self, facts: Facts, attempts: Sequence[Attempt]) -> Proposal | None:
        return self._ask(Role.AUTHOR, len(attempts) + 1, lambda agent: agent.rewrite(facts, attempts))

    @property
    def _answered(self) -> bool:
        """Whether the latest answer was the agent's own."""
        return self.stopped is None and not self._unanswered

    def _ask(self, role: Role, round_: int, ask: Callable[[Agent], Answer]) -> Answer:
        """Raises AgentStopped where no time is left to step in."""
        if self.stopped is None:
            try:
                answer = ask(self._agent)
            except AgentStopped as stopped:
                self._step_in(role, round_, stopped)
            else:
                self._unanswered = 0
                return answer
        elif self._too_late:
            raise AgentStopped(self.stopped)
        return ask(self._fallback)

    def _step_in(self, role: Role, round_: int, stopped: AgentStopped) -> None:
        left = self._desk.seconds_left()
        if left is not None and left < _LEAST_SECONDS:
            self.stopped, self._too_late = stopped.reason, True
            raise stopped
        self._unanswered += isinstance(stopped, Unanswered)
        # The rules write no forms: without a model's the round has the passes alone.
        nothing = isinstance(self._fallback, LeavesUndone) or (role is Role.TEMPLATER and isinstance(stopped, Unanswered))
        who = None if nothing else self._fallback.name
        if isinstance(stopped, Unanswered) and self._unanswered < _MOST_UNANSWERED:
            self._note(role, round_, f"{stopped.reason}: " + (f"agent {who} answers instead" if who else "continuing without it"))
            return
        self.stopped = stopped.reason + (f"; agent {who} took over" if who else "")
        self._note(role, round_, f"{stopped.reason}: " + (f"agent {who} takes over" if who else "it will not be asked again"))

    def _note(self, role: Role, round_: int, text: str) -> None:
        self._desk.note(Message(role, Kind.DECISION, text, round_, self.name))
