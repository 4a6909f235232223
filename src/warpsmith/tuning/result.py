"""Makes the objects of `record.result`: a finished run's from its stages, an unfinished run's from its record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from warpsmith.core.outcome import OUTCOME_KINDS, Evaluation, Measured
from warpsmith.record.result import (
    BestSoFar,
    CertificateEntry,
    ParameterEntry,
    RoundEntry,
    RunResult,
    TemplateEntry,
    UnfinishedRun,
    WarmSource,
    read_error,
    read_result,
)
from warpsmith.record.run import RoundRecord, RunRecord
from warpsmith.record.source import SourceSummary
from warpsmith.record.store import Store
from warpsmith.template import Certificate, Template

if TYPE_CHECKING:  # what is shown of a run needs nothing that makes one
    from warpsmith.tuning.agent.planning import RoundReport


@dataclass(frozen=True, slots=True)
class Roof:
    """The least time the machine itself needs for a workload's traffic and operations, measured beside the claims."""

    us: Mapping[str, float]

    def fraction(self, workload: str, median_us: float) -> float | None:
        return round(self.us[workload] / median_us, 4) if workload in self.us else None


def run_state(record: RunRecord, store: Store) -> dict[str, Any]:
    """The fields of `RunState` that are known of every run, finished or not."""
    header, counts = record.header, store.outcome_counts(record.run)
    return {
        "run": record.run,
        "status": record.status.value,
        "kernel": header.kernel,
        "device": header.device,
        "more_devices": tuple(header.settings.get("more_devices", ())),
        "agent": header.agent,
        "mode": header.settings.get("mode", "template"),  # runs of earlier versions knew no other
        "strategy": header.strategy,
        "seed": header.seed,
        "warm": tuple(map(_warm_source, store.source_summaries(record.run))),
        "rounds": 1,
        "evaluations": {kind: counts.get(kind, 0) for kind in OUTCOME_KINDS},
        "seconds": round(record.seconds, 3),
        "baseline": None,
        "general": None,
        "per_workload": {},
        "heldout": {},
        "stored_in": str(store.path),
    }


def _warm_source(source: SourceSummary) -> WarmSource:
    return WarmSource(
        source=source.name,
        kernel=source.kernel,
        device=source.device,
        evaluations=source.evaluations,
        measured=source.measured,
        found=source.found,
    )


def spent_s(record: RunRecord, evaluations: Sequence[Evaluation]) -> float:
    """A run that is under way, or was killed, could not say how long it took: its evaluations can, of all devices together."""
    devices = 1 + len(record.header.settings.get("more_devices", ()))
    return max(record.seconds, sum(e.seconds for e in evaluations) / devices)


def shown_result(record: RunRecord, store: Store) -> RunResult | UnfinishedRun:
    """What `show RUN` tells: the result as it was recorded; of an unfinished run, what is known so far."""
    if record.result is not None:
        return read_result(record.result)
    evaluations = store.evaluations(record.run)
    measured = [e for e in evaluations if e.score is not None]
    record = replace(record, seconds=spent_s(record, evaluations))
    best = min(measured, key=lambda e: e.score or 0.0, default=None)
    return UnfinishedRun(
        **run_state(record, store),
        error=read_error(record.error) if record.error is not None else None,
        best_so_far=_best_so_far(best) if best is not None else None,
    )


def _best_so_far(best: Evaluation) -> BestSoFar:
    assert isinstance(best.outcome, Measured)
    return BestSoFar(config=best.configuration, speedup=1 / best.outcome.score, ci95=best.outcome.speedup_ci95)


def round_entries(plans: Sequence[RoundRecord], reports: Sequence[RoundReport]) -> tuple[RoundEntry, ...]:
    """What was planned in each round, why, and what came of it; empty for a run that searched the kernel's own template."""
    searched = {report.number: report for report in reports}
    return tuple(
        RoundEntry(
            round=about.number,
            reason=about.plan["reason"],
            findings=tuple(finding["text"] for finding in about.plan["findings"]),
            forms={str(entry["number"]): entry["hypothesis"] for entry in about.plan.get("proposals", ())},
            applied=tuple(about.report["applied"]),
            declined=dict(about.report["declined"]),
            postponed=tuple(about.report.get("postponed", ())),  # unknown to rounds of earlier versions
            evaluations=searched[about.number].evaluations if about.number in searched else 0,
            speedup=round(searched[about.number].speedup, 4) if about.number in searched else None,
            template=about.kernel_path,
        )
        for about in plans
    )


def template_entry(template: Template, certificate: Certificate) -> TemplateEntry:
    """Of the template that was searched last. Its path is absolute: a run is shown from anywhere."""
    parameters = {p.name: ParameterEntry(values=p.values, default=p.default, assumes=p.assumes) for p in template.parameters}
    about = CertificateEntry(level=certificate.level, detail=certificate.detail)
    return TemplateEntry(path=str(template.path.absolute()), parameters=parameters, certificate=about)
