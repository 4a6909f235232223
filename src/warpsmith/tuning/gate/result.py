"""The result of a gate: checks by winner, and the object of `--json`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from warpsmith.measure.policy import DISTURBED_ABOVE, FALSE_ALARMS
from warpsmith.tuning.gate.judging import SpeedChange

# Of their share of the cores: so much others may shift a speedup. Seen: 6 % where they took 80 %, all processes of a gate alike.
_SHIFT = 0.25


class GateOutcome(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    NEW = "new"  # nothing was accepted that it could be compared with
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class GateCheck:
    """`figures` are numbers behind the message, by name."""

    name: str
    outcome: GateOutcome
    message: str
    figures: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        return {
            "check": self.name,
            "outcome": self.outcome.value,
            "message": self.message,
            "seconds": round(self.seconds, 3),
            **self.figures,
        }


@dataclass(slots=True)
class WinnerReport:
    winner: str
    kernel: str | None
    config: Mapping[str, Any] | None
    checks: list[GateCheck] = field(default_factory=list)

    def add(
        self,
        name: str,
        outcome: GateOutcome,
        message: str,
        figures: Mapping[str, Any] | None = None,
        seconds: float = 0.0,
    ) -> None:
        self.checks.append(GateCheck(name, outcome, message, figures or {}, seconds))

    @property
    def passed(self) -> bool:
        return all(check.outcome is not GateOutcome.FAILED for check in self.checks)

    def as_dict(self) -> dict[str, Any]:
        return {
            "winner": self.winner,
            "kernel": self.kernel,
            "config": self.config,
            "passed": self.passed,
            "checks": [check.as_dict() for check in self.checks],
        }


def figures_of(found: SpeedChange, smallest: float) -> dict[str, Any]:
    return {
        "slowdown": round(found.slowdown, 5),
        "ci95": [round(found.low, 5), round(found.high, 5)],
        "p": found.p,
        "smallest": round(smallest, 5),
    }


def change_text(found: SpeedChange, smallest: float) -> str:
    """`3.1 % slower (95 %: 1.0 to 5.2 %); 4.0 % would be found`."""
    word = "slower" if found.slowdown >= 0 else "faster"
    interval = f"{found.low:+.1%} to {found.high:+.1%}"
    return f"{abs(found.slowdown):.1%} {word} (95 % interval of the slowdown: {interval}); one of {smallest:.1%} is detectable"


def verdict(second: SpeedChange, tolerance: float, others: float) -> tuple[GateOutcome, str]:
    """On what seemed slower and was measured once more; `others` is the share of the cores that other programs took.

    Their mood lasts longer than a gate: what all of its processes share, no test between processes sees.
    """
    if second.p > FALSE_ALARMS or second.slowdown <= tolerance:
        return GateOutcome.PASSED, "it seemed slower at first, but not when repeated"
    if others > DISTURBED_ABOVE and second.slowdown < _SHIFT * others:
        return GateOutcome.SKIPPED, f"but other programs took {others:.0%} of the cores: measure on a quiet machine"
    return GateOutcome.FAILED, "measured twice"
