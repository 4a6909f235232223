"""From a planner's reply to a `Plan`: only existing passes, and no repeated round."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping, Sequence

from warpsmith.agents.llm.problem import Problem
from warpsmith.agents.llm.replies import PlanReply
from warpsmith.refactor.on_form import parted
from warpsmith.tuning.agent.planning import Facts, Finding, PassReport, Plan
from warpsmith.tuning.rounds.writing import MOST_FORMS

_LEAST_SHARE = 0.05


def plan_of(reply: PlanReply, facts: Facts, findings: Sequence[Finding]) -> Plan | None:
    """None: the model says that nothing is left. Raises Problem."""
    if reply.stop and not reply.passes and not reply.write:
        return None
    known = {report.name: report for report in facts.passes}
    asked = list(dict.fromkeys(name.strip() for name in reply.passes))
    unknown = [name for name in asked if parted(name)[0] not in known]
    if unknown:
        raise Problem("\n".join(_unknown(name, known) for name in unknown))
    so_far = [report.name for report in facts.passes if report.applied_in is not None]
    fresh: list[str] = []
    refused: dict[str, str] = {}
    for name in asked:
        granted = _granted(name, known, facts.next_form if reply.write else None)
        fresh += granted
        if not granted and (name not in known or known[name].applied_in is None):  # what was applied stays anyway
            refused[name] = _why_not(name, known)
    if not fresh and not reply.write:
        tried = "; ".join(f"{name} ({refused[name]})" if name in refused else name for name in asked) or "no pass"
        left = [r.name for r in facts.passes if r.applied_in is None and r.declined is None]
        raise Problem(
            f"{tried}: nothing in it that was not tried before. Untried passes: {', '.join(left) or 'none'}."
            " Ask for some of them, set write to write a form yourself, or set stop"
        )
    untried = {r.name for r in facts.passes if r.applied_in is None and r.declined is None}
    return Plan(
        passes=tuple(dict.fromkeys((*so_far, *fresh))),
        reason=reply.reason,
        findings=tuple(findings),
        is_last=False if reply.write else untried <= set(fresh),
        share=None if reply.share is None else min(1.0, max(_LEAST_SHARE, reply.share)),
        write=reply.write,
        refused=refused,
    )


def _granted(request: str, known: Mapping[str, PassReport], next_form: int | None) -> list[str]:
    """What a request comes to: the pass there, on the forms it is left for where the kernel itself has no use for it, or nothing.

    A form that is still to be written is asked when it is there.
    """
    name, form = parted(request)
    if next_form is not None and next_form <= form < next_form + MOST_FORMS:
        return [request]
    report = known.get(request)
    if report is not None and report.applied_in is None and report.declined is None:
        return [request]
    if form:
        return []
    return [r.name for r in known.values() if parted(r.name)[0] == name and r.applied_in is None and r.declined is None]


def _why_not(request: str, known: Mapping[str, PassReport]) -> str:
    report = known.get(request)
    return f"there is no form {parted(request)[1]}" if report is None else str(report.declined)


def _unknown(name: str, known: Collection[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f"there is no pass {name!r}" + (f"; did you mean {near[0]!r}?" if near else "")
