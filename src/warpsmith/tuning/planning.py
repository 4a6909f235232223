"""What an agent is told after each round and what it answers: the protocol of planning, filled by `warpsmith.agents`.

The loop (`tuning.rounds`) measures and searches; an agent only reads `Facts` (the paper's m = M(S, x; h)), turns them into
`Finding`s (g = A(m)) and picks the next passes. Both are recorded, so that a run can say why it did what it did.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from warpsmith.core.hardware import Limits, Resources
from warpsmith.refactor.base import Concern
from warpsmith.search.importance import Importance
from warpsmith.spec.kernel import Kernel


@dataclass(frozen=True, slots=True)
class Finding:
    """One suggestion with the fact it rests on. `weight` orders them: 1 is as good as certain to matter."""

    concern: Concern
    text: str
    weight: float


@dataclass(frozen=True, slots=True)
class PassReport:
    """What is known of a pass so far: untried, applied (in which round), or declined (why)."""

    name: str
    summary: str
    concerns: frozenset[Concern]
    applied_in: int | None = None
    declined: str | None = None


@dataclass(frozen=True, slots=True)
class RoundReport:
    """A finished round: what was planned and what came of it. `speedup` is the best so far over the original, as searched."""

    number: int
    passes: tuple[str, ...]
    reason: str
    evaluations: int
    speedup: float


@dataclass(frozen=True, slots=True)
class Facts:
    """What was measured up to now. What the device cannot tell is None: absent, never guessed."""

    kernel: Kernel  # as the user brought it
    limits: Limits
    baseline: Resources | None
    best: Resources | None
    roofline_fraction: Mapping[str, float]  # of the best so far, by workload; empty where no roof could be measured
    best_configuration: Mapping[str, object] = field(default_factory=dict)
    importance: Importance | None = None
    failures: Mapping[str, int] = field(default_factory=dict)  # by kind of outcome
    rounds: Sequence[RoundReport] = ()
    passes: Sequence[PassReport] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """The next round: the passes to apply to the original (earlier rounds' included), and why."""

    passes: tuple[str, ...]
    reason: str
    findings: tuple[Finding, ...] = ()
    is_last: bool = False  # nothing would be left to plan after it: it may spend what there is


class Agent(Protocol):
    """Found by entry point (`warpsmith.agents`)."""

    name: str

    def analyse(self, facts: Facts) -> tuple[Finding, ...]:
        """Suggestions, the weightiest first."""
        ...

    def plan(self, facts: Facts, findings: Sequence[Finding]) -> Plan | None:
        """The next round; None when there is nothing left worth trying."""
        ...
