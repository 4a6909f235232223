"""Advances one run of a batch: starts it, or resumes it under the larger budget."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warpsmith.record.batches import Member
from warpsmith.record.result import SearchedRun
from warpsmith.record.store import Store
from warpsmith.settings import Settings
from warpsmith.spec.load import load_kernel
from warpsmith.tuning import run as tuning_run
from warpsmith.tuning.batch.options import BatchOptions
from warpsmith.tuning.budget import Budget
from warpsmith.tuning.events import Emit


@dataclass(frozen=True, slots=True)
class RunVisit:
    """Implements `tuning.batch.work.Visit` on a real device. `claimed` hears of each run that has its result."""

    batch: str
    of: int
    options: BatchOptions
    settings: Settings
    emit: Emit
    claimed: Callable[[str], None]

    def __call__(self, member: Member, budget: Budget, *, claims: bool) -> Mapping[str, Any]:
        kernel = load_kernel(Path(member.kernel_path))
        with Store(self.settings.database) as store:
            has_begun = any(record.run == member.run for record in store.meant_by(member.run))
            if has_begun:
                store.allow(member.run, budget.evaluations, budget.seconds)
        if has_begun:
            found = tuning_run.resume(member.run, self.settings, self.emit, claims=claims)
        else:
            order = self.options.order(kernel, budget, batch=self.batch, of=self.of)
            found = tuning_run.start(order, self.settings, self.emit, name=member.run, claims=claims)
        if claims:
            self.claimed(member.run)
            return {}
        roof_us = found.roof_us if isinstance(found, SearchedRun) else None
        return {
            "roof_us": roof_us,
            "weights": {w.name: w.weight for w in kernel.tuning_workloads},
        }
