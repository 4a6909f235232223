"""The data types of `warpsmith verify`: subjects and outcomes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from warpsmith.core.configuration import Configuration
from warpsmith.core.outcome import Verdict
from warpsmith.devices.base import RACECHECK
from warpsmith.tuning.evaluation.builder import Builder


class SubjectKind(StrEnum):
    TUNING = "tuning"
    HELDOUT = "heldout"
    ADVERSARIAL = "adversarial"


class CheckStatus(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class VerifiedSubject:
    """Something to verify: what it is in the run, what is built of it, and the workloads that it may run on."""

    name: str
    configuration: Configuration
    builder: Builder
    built: Configuration  # as the builder names it: an exported file has no parameters left
    workloads: frozenset[str]
    source: str | None = None


@dataclass(frozen=True, slots=True)
class WorkloadCheck:
    """The outcome of one configuration on one workload with inputs of one seed."""

    subject: str
    workload: str
    kind: SubjectKind
    seed: int
    status: CheckStatus
    verdict: Verdict | None = None
    reason: str = ""

    @property
    def entry(self) -> dict[str, Any]:
        """As `verify --json` has it; of several arguments that are wrong, the first."""
        wrong = self.verdict.failure if self.verdict is not None else None
        error = self.verdict.max_error if self.verdict is not None else None
        return {
            "configuration": self.subject,
            "workload": self.workload,
            "kind": self.kind.value,
            "seed": self.seed,
            "outcome": self.status.value,
            "max_error": error if error is not None and math.isfinite(error) else None,
            "argument": wrong.argument if wrong else None,
            "element": list(wrong.where) if wrong else None,
            "expected": (wrong.expected or None) if wrong else None,
            "found": (wrong.got or None) if wrong else None,
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True)
class WatchedCheck:
    """A checker's findings in watched launches. `skipped` if the original has the same finding, or the check could not run."""

    subject: str
    check: str
    status: CheckStatus
    reason: str = ""

    @property
    def entry(self) -> dict[str, str]:
        return {"configuration": self.subject, "outcome": self.status.value, "reason": self.reason}


@dataclass(frozen=True, slots=True)
class Verification:
    """`subjects` have the configurations that were verified, the original first. `watched` is empty where no device watches."""

    device: str
    device_description: str
    oracle: str
    seeds: tuple[int, ...]
    subjects: tuple[VerifiedSubject, ...]
    checks: tuple[WorkloadCheck, ...]
    watched: tuple[WatchedCheck, ...] = ()

    @property
    def passed(self) -> bool:
        outcomes = [*(check.status for check in self.checks), *(found.status for found in self.watched)]
        return CheckStatus.FAILED not in outcomes

    def as_dict(self) -> dict[str, Any]:
        counts = {status.value: sum(check.status is status for check in self.checks) for status in CheckStatus}
        return {
            "device": self.device,
            "device_description": self.device_description,
            "oracle": self.oracle,
            "seeds": list(self.seeds),
            "passed": self.passed,
            "counts": counts,
            "configurations": [
                {"name": s.name, "config": dict(s.configuration.pairs), **({"file": s.source} if s.source else {})}
                for s in self.subjects
            ],
            "checks": [check.entry for check in self.checks],
            "races": [found.entry for found in self.watched if found.check == RACECHECK],
            "watched": [{"check": found.check, **found.entry} for found in self.watched],
        }
