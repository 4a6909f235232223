"""From a planner's reply to a `Plan`: only passes that there are, and never the same round twice."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Sequence

from warpsmith.agents.llm.problem import Problem
from warpsmith.agents.llm.replies import PlanReply
from warpsmith.tuning.agent.planning import Facts, Finding, Plan

_LEAST_SHARE = 0.05


def plan_of(reply: PlanReply, facts: Facts, findings: Sequence[Finding]) -> Plan | None:
    """None: the model says that nothing is left. Raises Problem."""
    if reply.stop and not reply.passes and not reply.write:
        return None
    known = {report.name: report for report in facts.passes}
    asked = list(dict.fromkeys(name.strip() for name in reply.passes))
    unknown = [name for name in asked if name not in known]
    if unknown:
        raise Problem("\n".join(_unknown(name, known) for name in unknown))
    so_far = [report.name for report in facts.passes if report.applied_in is not None]
    fresh = [name for name in asked if known[name].applied_in is None and known[name].declined is None]
    if not fresh and not reply.write:
        tried = ", ".join(asked) or "no pass"
        left = [r.name for r in facts.passes if r.applied_in is None and r.declined is None]
        raise Problem(
            f"{tried}: nothing in it that was not tried before. Untried passes: {', '.join(left) or 'none'}."
            " Ask for some of them, set write to write a form yourself, or set stop"
        )
    untried = {r.name for r in facts.passes if r.applied_in is None and r.declined is None}
    return Plan(
        passes=(*so_far, *fresh),
        reason=reply.reason,
        findings=tuple(findings),
        is_last=False if reply.write else untried <= set(fresh),
        share=None if reply.share is None else min(1.0, max(_LEAST_SHARE, reply.share)),
        write=reply.write,
    )


def _unknown(name: str, known: Collection[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f"there is no pass {name!r}" + (f"; did you mean {near[0]!r}?" if near else "")
