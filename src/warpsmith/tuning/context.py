"""`RunContext`: the state shared by all stages of a run, complete before the run is recorded. `Inputs`: its workloads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from warpsmith.compile.pool import CompilePool
from warpsmith.devices.base import DeviceInfo
from warpsmith.record.store import Store
from warpsmith.record.transcript import Message
from warpsmith.settings import Settings
from warpsmith.spec.kernel import Kernel
from warpsmith.tuning.agent.allowance import Ledger
from warpsmith.tuning.agent.planning import Agent
from warpsmith.tuning.cluster.machines import RayCluster
from warpsmith.tuning.evaluation.round import Round
from warpsmith.tuning.evaluation.targets import Targets
from warpsmith.tuning.events import Emit
from warpsmith.tuning.order import Order
from warpsmith.verify.prepared import PreparedWorkload


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContext:
    """`original` is round 0; without an agent its template is the one to be searched."""

    run: str
    order: Order
    settings: Settings
    store: Store
    pool: CompilePool
    info: DeviceInfo
    targets: Targets
    agent: Agent | None
    original: Round
    rng: np.random.Generator  # only orders launches; the strategy has its own
    ledger: Ledger  # what models took
    makes_claims: bool  # a comparison claims for all of its runs together, and a batch goes on later
    cluster: RayCluster | None = None
    elapsed_s: Callable[[], float]  # of all parts of a resumed run
    emit: Emit
    note: Callable[[Message], None]

    @property
    def kernel(self) -> Kernel:
        return self.original.kernel

    @property
    def folder(self) -> Path:
        return self.settings.run_folder(self.run)

    @property
    def needs_roof_early(self) -> bool:
        """An agent is told how far the kernel is from its roofline, and a batch shares out its budget by it."""
        return self.agent is not None or (self.order.batch is not None and not self.makes_claims)

    @property
    def has_foreign_alternatives(self) -> bool:
        """Whether somebody else than the user wrote alternatives."""
        return self.agent is not None or self.kernel.template_foreign


@dataclass(frozen=True, slots=True)
class Inputs:
    """The kernel's workloads, prepared, by name, and the seed that their inputs were drawn with."""

    seed: int
    prepared: Mapping[str, PreparedWorkload]
