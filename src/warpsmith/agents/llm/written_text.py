"""Earlier forms and rewrites, for the author of the next: source, launch, parameters, what came of them."""

from __future__ import annotations

import json
from collections.abc import Sequence

from warpsmith.agents.llm.scrub import cut, presentable
from warpsmith.core.outcome import Measured
from warpsmith.refactor.proposal import Proposal
from warpsmith.report.wording import searched_text
from warpsmith.tuning.agent.planning import Attempt

_MOST_SOURCE = 30_000  # characters of one
_MOST_PROBLEM = 1_500


def form_text(proposal: Proposal) -> str:
    """A form that a further one may build on."""
    return f"Form {proposal.number}:\n{fenced(proposal)}\n{declared_text(proposal)}"


def declared_text(proposal: Proposal) -> str:
    """What stands beside a form's source, as it was answered."""
    parameters = [{"name": t.name, "values": list(t.values), "default": t.default} for t in proposal.tunables]
    constraints = [{"expression": rule.expression, "reason": rule.reason} for rule in proposal.rules]
    lines = [f"Launch: {launch_text(proposal)}"]
    lines += [f"Parameters: {json.dumps(parameters)}"] if parameters else []
    lines += [f"Constraints: {json.dumps(constraints)}"] if constraints else []
    return "\n".join(lines)


def launch_text(proposal: Proposal) -> str:
    return json.dumps({"grid": list(proposal.grid), "block": list(proposal.block), "shared": proposal.shared})


def fenced(proposal: Proposal) -> str:
    return f"```\n{cut(proposal.source, _MOST_SOURCE).rstrip()}\n```"


def attempts_text(attempts: Sequence[Attempt]) -> str:
    """Every rewrite so far with what came of it; the source of the fastest and of the last one."""
    if not attempts:
        return "None yet: yours is the first."
    measured = [a for a in attempts if a.evaluation.score is not None]
    shown = {id(attempts[-1])} | ({id(min(measured, key=lambda a: a.evaluation.score or 0.0))} if measured else set())
    parts = []
    for number, attempt in enumerate(attempts, start=1):
        launch = launch_text(attempt.proposal)
        text = f"Rewrite {number} ({attempt.proposal.hypothesis or 'no hypothesis'}), launch {launch}: {_came_of(attempt)}"
        if id(attempt) in shown:
            text += f"\n{fenced(attempt.proposal)}"
        parts.append(text)
    return "\n\n".join(parts)


def _came_of(attempt: Attempt) -> str:
    outcome = attempt.evaluation.outcome
    if not isinstance(outcome, Measured):
        return f"{type(outcome).__name__}: {presentable(outcome.reason, _MOST_PROBLEM)}"
    times = ", ".join(f"{t.workload} {t.median_us:.1f} µs" for t in outcome.times)
    return f"{searched_text(1 / outcome.score, outcome.speedup_ci95)} the original's speed ({times})"
