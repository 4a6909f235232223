"""`RulesAgent`: analyst, planner, tester and author without a model. What it writes, the passes write."""

from __future__ import annotations

from collections.abc import Sequence

from warpsmith.agents.rules import analyst, author, planner
from warpsmith.refactor.proposal import Proposal
from warpsmith.spec.kernel import Workload
from warpsmith.tuning.agent.planning import Attempt, Desk, Facts, Finding, Plan


class RulesAgent:
    def __init__(self, name: str, desk: Desk) -> None:
        self.name = name
        self._desk = desk

    def analyse(self, facts: Facts) -> tuple[Finding, ...]:
        return analyst.findings(facts)

    def plan(self, facts: Facts, findings: Sequence[Finding]) -> Plan | None:
        return planner.plan(facts, findings)

    def propose(self, facts: Facts, plan: Plan) -> Sequence[Proposal]:  # noqa: ARG002 - passes write all that it plans
        return ()

    def repair(self, facts: Facts, proposal: Proposal, problem: str) -> Proposal | None:  # noqa: ARG002
        return None

    def adversaries(self, facts: Facts) -> tuple[Workload, ...]:  # noqa: ARG002 - a run has shapes of its own
        return ()

    def rewrite(self, facts: Facts, attempts: Sequence[Attempt]) -> Proposal | None:
        return author.rewrite(facts, attempts, self._desk)
