"""Which passes next, and why: first what the kernel already fixes as numbers, then what the findings ask for, then the rest.

A round's passes include those of the rounds before it, so a later template contains every earlier one: what was measured stays
valid, and the last template can express the best of all rounds.
"""

from __future__ import annotations

from collections.abc import Sequence

from warpsmith.tuning.agent.planning import Facts, Finding, PassReport, Plan

ALWAYS_FIRST = frozenset({"lift_constants", "block_size"})
_PER_ROUND = 5
_GAIN_WORTH_ANOTHER = 1.02


def plan(facts: Facts, findings: Sequence[Finding]) -> Plan | None:
    so_far = [p.name for p in facts.passes if p.applied_in is not None]
    untried = [p for p in facts.passes if p.applied_in is None and p.declined is None]
    if not untried or (facts.rounds and not findings) or _stalled(facts):
        return None
    if not facts.rounds:
        first = [p for p in untried if p.name in ALWAYS_FIRST]
        asked = _by_findings([p for p in untried if p not in first], findings)[:_PER_ROUND]
        chosen, why = [*first, *asked], "what the kernel fixes as numbers becomes parameters"
        if not chosen:  # a pass with a choice to offer gets its turn, though nothing asks for it
            chosen, why = untried[:_PER_ROUND], "what has not been tried yet"
    else:
        chosen = _by_findings(untried, findings)[:_PER_ROUND] or untried[:_PER_ROUND]
        why = "what the findings ask for next" if any(_weight(p, findings) for p in chosen) else "what has not been tried yet"
    return Plan(
        passes=(*so_far, *(p.name for p in chosen)),
        reason=f"{why}: {', '.join(_because(p, findings) for p in chosen)}",
        findings=tuple(findings),
        is_last=len(chosen) == len(untried),
    )


def _stalled(facts: Facts) -> bool:
    """Two rounds in a row brought nothing."""
    if len(facts.rounds) < 2:
        return False
    before = facts.rounds[-3].speedup if len(facts.rounds) > 2 else 1.0
    return facts.rounds[-1].speedup < before * _GAIN_WORTH_ANOTHER


def _by_findings(passes: Sequence[PassReport], findings: Sequence[Finding]) -> list[PassReport]:
    """Those that a finding asks for, the weightiest first."""
    return sorted((p for p in passes if _weight(p, findings) > 0), key=lambda p: -_weight(p, findings))


def _weight(report: PassReport, findings: Sequence[Finding]) -> float:
    return max((f.weight for f in findings if f.concern in report.concerns), default=0.0)


def _because(report: PassReport, findings: Sequence[Finding]) -> str:
    asking = [f for f in findings if f.concern in report.concerns]
    if not asking:
        return f"{report.name} ({report.summary})"
    return f"{report.name} (for {max(asking, key=lambda f: f.weight).concern})"
