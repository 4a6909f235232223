"""The report of one target and of each configuration on it, and its JSON form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from warpsmith.analysis.ranked import Ranking
from warpsmith.analysis.targets import Target
from warpsmith.core.configuration import Configuration
from warpsmith.core.hardware import Occupancy, Resources
from warpsmith.devices.base import DeviceInfo
from warpsmith.space import Removal


class Compiling(StrEnum):
    """What came of it."""

    COMPILED = "compiled"
    INFEASIBLE = "infeasible"  # it compiles, and cannot be launched
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class ConfigurationReport:
    """`problem` says why it cannot run; else there are `resources`, and `occupancies` by workload if the device has any."""

    configuration: Configuration
    resources: Resources | None = None
    occupancies: Mapping[str, Occupancy] = field(default_factory=dict)
    problem: str | None = None
    kind: Compiling = Compiling.COMPILED

    @property
    def occupancy(self) -> Occupancy | None:
        """The worst over the workloads."""
        return min(self.occupancies.values(), key=lambda found: found.fraction, default=None)

    def entry(self) -> dict[str, Any]:
        used, worst = self.resources, self.occupancy
        return {
            "config": dict(self.configuration.pairs),
            "outcome": self.kind,
            "reason": self.problem,
            "registers": used.registers if used else None,
            "spill_bytes": used.spill_bytes if used else None,
            "stack_bytes": used.stack_bytes if used else None,
            "shared_bytes": worst.shared_bytes if worst else used.shared_bytes if used else None,
            "load_bytes": used.load_bytes if used else None,
            "instructions": used.instructions if used else None,
            "vector_width": used.vector_width if used else None,
            "occupancy": round(worst.fraction, 4) if worst else None,
            "limiter": worst.limiter.value if worst else None,
            "workloads": {
                name: {
                    "blocks": found.blocks,
                    "warps": found.warps,
                    "occupancy": round(found.fraction, 4),
                    "limiter": found.limiter.value,
                }
                for name, found in self.occupancies.items()
            },
        }


@dataclass(frozen=True, slots=True)
class TargetReport:
    """`of` is how many feasible configurations there are; fewer may have been looked at."""

    target: Target
    info: DeviceInfo
    original: ConfigurationReport
    configurations: tuple[ConfigurationReport, ...]
    of: int
    cartesian_size: int
    removed: tuple[Removal, ...]
    best_us: Mapping[str, float]
    seconds: float
    ranking: Ranking | None = None

    def entry(self) -> dict[str, Any]:
        gpu = self.target.gpu
        return {
            "target": self.target.name,
            "device": self.info.name,
            "description": gpu.description if gpu else self.info.description,
            "limits": self.info.limits.names(),
            "versions": dict(self.info.versions),
            "original": self.original.entry(),
            "configurations": [report.entry() for report in self.configurations],
            "feasible": self.of,
            "cartesian_size": self.cartesian_size,
            "removed": [
                {"constraint": r.constraint, "reason": r.reason, "removes": r.count, "estimate": r.estimate} for r in self.removed
            ],
            "least_us": dict(self.best_us) if gpu else None,
            "sources": gpu.sources if gpu else None,
            "seconds": round(self.seconds, 3),
            **({"ranking": self.ranking.entry()} if self.ranking is not None else {}),
        }
