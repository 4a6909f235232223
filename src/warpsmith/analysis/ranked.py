"""Configurations in the order of their estimated time, with how far such estimates were right; and their form as JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from warpsmith.analysis.estimate import VALIDATED, Estimate
from warpsmith.core.configuration import Configuration


@dataclass(frozen=True, slots=True)
class Ranked:
    """`us` is the weighted geometric mean over the tuning workloads; `problem` says why there is no estimate."""

    configuration: Configuration
    workloads: Mapping[str, Estimate]
    us: float = math.inf
    problem: str | None = None

    def entry(self) -> dict[str, Any]:
        return {
            "config": dict(self.configuration.pairs),
            "estimated_us": round(self.us, 3),
            "workloads": {
                name: {"estimated_us": round(found.us, 3), "limiter": found.limiter} for name, found in self.workloads.items()
            },
        }


@dataclass(frozen=True, slots=True)
class Ranking:
    """The fastest first, by estimate."""

    ranked: tuple[Ranked, ...]
    refused: tuple[Ranked, ...]

    def entry(self) -> dict[str, Any]:
        return {
            "estimated": True,
            "validated": dict(VALIDATED),
            "configurations": [one.entry() for one in self.ranked],
            "refused": [{"config": dict(one.configuration.pairs), "reason": one.problem} for one in self.refused],
        }
