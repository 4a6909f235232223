"""`RulesAgent`: analyst and planner behind the one protocol."""

from __future__ import annotations

from collections.abc import Sequence

from warpsmith.agents.rules import analyst, planner
from warpsmith.tuning.planning import Facts, Finding, Plan


class RulesAgent:
    name = "rules"

    def analyse(self, facts: Facts) -> tuple[Finding, ...]:
        return analyst.findings(facts)

    def plan(self, facts: Facts, findings: Sequence[Finding]) -> Plan | None:
        return planner.plan(facts, findings)
