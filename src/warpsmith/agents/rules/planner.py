"""Which passes next, and why: first what the kernel already fixes as numbers, then what won on similar kernels before, then what
the findings ask for, then the rest.

A round's passes include those of the rounds before it, so a later template contains every earlier one: what was measured stays
valid, and the last template can express the best of all rounds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from warpsmith.record.lessons import Lesson, PassLesson
from warpsmith.tuning.agent.planning import Facts, Finding, PassReport, Plan

ALWAYS_FIRST = frozenset({"lift_constants", "block_size"})
BESIDE = frozenset(
    {"serial_warps", "thread_steps", "block_steps"}
)  # they make another kernel of the first form alone, and take no other pass's place
_PER_ROUND = 5
_GAIN_WORTH_ANOTHER = 1.02


def plan(facts: Facts, findings: Sequence[Finding]) -> Plan | None:
    so_far = [p.name for p in facts.passes if p.applied_in is not None]
    untried = [p for p in facts.passes if p.applied_in is None and p.declined is None]
    if not untried or (facts.rounds and not findings) or _stalled(facts):
        return None
    if not facts.rounds:
        first = [p for p in untried if p.name in ALWAYS_FIRST]
        asked = _asked([p for p in untried if p not in first], facts, findings)
        chosen, why = [*first, *asked], "what the kernel fixes as numbers becomes parameters"
        if not chosen:  # a pass with a choice to offer gets its turn, though nothing asks for it
            chosen, why = untried[:_PER_ROUND], "what has not been tried yet"
    else:
        chosen = _asked(untried, facts, findings) or untried[:_PER_ROUND]
        why = "what the findings ask for next" if any(_weight(p, findings) for p in chosen) else "what has not been tried yet"
    return Plan(
        passes=(*so_far, *(p.name for p in chosen)),
        reason=f"{why}: {', '.join(_because(p, facts, findings) for p in chosen)}",
        findings=tuple(findings),
        is_last=len(chosen) == len(untried),
    )


def _stalled(facts: Facts) -> bool:
    """Two rounds in a row brought nothing."""
    if len(facts.rounds) < 2:
        return False
    before = facts.rounds[-3].speedup if len(facts.rounds) > 2 else 1.0
    return facts.rounds[-1].speedup < before * _GAIN_WORTH_ANOTHER


def _asked(untried: Sequence[PassReport], facts: Facts, findings: Sequence[Finding]) -> list[PassReport]:
    """What won before has its turn first, where it brought most on the most similar kernels."""
    won = {p.name: how * math.log(gain.gain) for p in untried for gain, _, how in _gains(p, facts)}
    first = sorted((p for p in untried if p.name in won), key=lambda p: -won[p.name])
    asked = [*first, *_by_findings([p for p in untried if p not in first], findings)]
    return [*[p for p in asked if p.name not in BESIDE][:_PER_ROUND], *(p for p in asked if p.name in BESIDE)]


def _gains(report: PassReport, facts: Facts) -> list[tuple[PassLesson, Lesson, float]]:
    """Where the pass won for certain, the least telling first."""
    found = [(p, lesson, how) for lesson, how in facts.known for p in lesson.passes if p.name == report.name and p.won]
    return sorted(found, key=lambda each: each[2] * math.log(each[0].gain))


def _by_findings(passes: Sequence[PassReport], findings: Sequence[Finding]) -> list[PassReport]:
    """Those that a finding asks for, the weightiest first."""
    return sorted((p for p in passes if _weight(p, findings) > 0), key=lambda p: -_weight(p, findings))


def _weight(report: PassReport, findings: Sequence[Finding]) -> float:
    return max((f.weight for f in findings if f.concern in report.concerns), default=0.0)


def _because(report: PassReport, facts: Facts, findings: Sequence[Finding]) -> str:
    if gains := _gains(report, facts):
        gain, lesson, _ = gains[-1]
        return f"{report.name} ({gain.gain:.2f}x on {lesson.kernel} before)"
    asking = [f for f in findings if f.concern in report.concerns]
    if not asking:
        return f"{report.name} ({report.summary})"
    return f"{report.name} (for {max(asking, key=lambda f: f.weight).concern})"
