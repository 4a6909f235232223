"""Templates that the runs of a comparison share: the same passes on the same kernel make the same one, so it is made once.

Shared is also where it lies: a binary's key has the path of its source, and what one seed compiled the next one need not.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warpsmith.core.fingerprint import fingerprint
from warpsmith.refactor.proposal import Proposal
from warpsmith.source.lane_strides import Access
from warpsmith.spec.bundled import FILE_NAME
from warpsmith.tuning.agent.planning import PassReport
from warpsmith.tuning.templates.effort import Effort
from warpsmith.tuning.templates.workbench import Templating

_REPORT = "report.json"


@dataclass(frozen=True, slots=True)
class SharedTemplates:
    """Implements `Templating` over another one."""

    inner: Templating
    shelf: Path

    def problem_of(self, proposal: Proposal) -> str | None:
        return self.inner.problem_of(proposal)

    def passes_on(self, proposal: Proposal) -> list[PassReport]:
        return self.inner.passes_on(proposal)

    def accesses(self, proposal: Proposal | None) -> tuple[Access, ...]:
        return self.inner.accesses(proposal)

    def make(
        self, passes: Sequence[str], proposals: Sequence[Proposal], folder: Path, effort: Effort
    ) -> tuple[Path, Mapping[str, Any]]:
        if proposals:  # what an agent wrote is its run's own
            return self.inner.make(passes, proposals, folder, effort)
        shared = self.shelf / fingerprint(*passes)[:16]
        report = shared / _REPORT
        if not report.is_file():
            _, made = self.inner.make(passes, (), shared, effort)
            # Last, and at once: a template whose making was killed has no report, and is made again.
            partial = report.with_suffix(".part")
            partial.write_text(json.dumps(made), encoding="utf-8")
            partial.replace(report)
        found: Mapping[str, Any] = json.loads(report.read_text(encoding="utf-8"))
        return shared / FILE_NAME, found
