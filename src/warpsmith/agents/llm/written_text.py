"""Forms and rewrites that were written before, for who writes the next: source, launch, parameters, what came of them."""

from __future__ import annotations

import json
from collections.abc import Sequence

from warpsmith.agents.llm.scrub import cut, presentable
from warpsmith.core.outcome import Measured
from warpsmith.refactor.proposal import Proposal
from warpsmith.tuning.agent.planning import Attempt, Facts

_MOST_SOURCE = 30_000  # characters of one
_MOST_PROBLEM = 1_500


def forms_text(facts: Facts) -> str:
    """The sources of the forms that were kept, so that a further one builds on them; the fastest first, two at most."""
    kept = [r for r in facts.proposals if r.problem is None]
    best = sorted(kept, key=lambda r: -(r.speedup or 0.0))[:2]
    return "\n\n".join(f"Form {r.proposal.number}, kept:\n{_source(r.proposal)}\n{declared_text(r.proposal)}" for r in best)


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


def _source(proposal: Proposal) -> str:
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
            text += f"\n{_source(attempt.proposal)}"
        parts.append(text)
    return "\n\n".join(parts)


def _came_of(attempt: Attempt) -> str:
    outcome = attempt.evaluation.outcome
    if not isinstance(outcome, Measured):
        return f"{type(outcome).__name__}: {presentable(outcome.reason, _MOST_PROBLEM)}"
    times = ", ".join(f"{t.workload} {t.median_us:.1f} µs" for t in outcome.times)
    return f"{1 / outcome.score:.3f}x the original's speed ({times})"
