"""The object that `tune --json`, `resume --json` and `show RUN --json` print. Its keys are stable: others script against it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from warpsmith.core.outcome import OUTCOME_KINDS, Evaluation
from warpsmith.measure.statistics import Ratio, weighted_mean
from warpsmith.record.run import RoundRecord, RunRecord
from warpsmith.record.source import SourceSummary
from warpsmith.record.store import Store

if TYPE_CHECKING:  # what is shown of a run needs nothing that makes one
    from warpsmith.tuning.agent.planning import RoundReport
    from warpsmith.tuning.claims.finalists import Claim


@dataclass(frozen=True, slots=True)
class Roof:
    """The least time the machine itself needs for a workload's traffic and operations, measured beside the claims."""

    us: Mapping[str, float]

    def fraction(self, workload: str, median_us: float) -> float | None:
        return round(self.us[workload] / median_us, 4) if workload in self.us else None


def header_of(record: RunRecord, counts: Mapping[str, int], sources: Sequence[SourceSummary]) -> dict[str, Any]:
    """The part that every run has, finished or not."""
    header = record.header
    return {
        "run": record.run,
        "status": record.status,
        "kernel": header.kernel,
        "device": header.device,
        "more_devices": header.settings.get("more_devices", []),
        "agent": header.agent,
        "mode": header.settings.get("mode", "template"),  # runs of earlier versions knew no other
        "strategy": header.strategy,
        "seed": header.seed,
        "warm": [
            {
                "source": source.name,
                "kernel": source.kernel,
                "device": source.device,
                "evaluations": source.evaluations,
                "measured": source.measured,
                "found": source.found,
            }
            for source in sources
        ],
        "rounds": 1,
        "plan": [],
        "also_compile": [],
        "evaluations": {kind: counts.get(kind, 0) for kind in OUTCOME_KINDS},
        "seconds": round(record.seconds, 3),
        "baseline": None,
        "general": None,
        "uncertain": None,
        "per_workload": {},
        "heldout": {},
    }


def spent_s(record: RunRecord, evaluations: Sequence[Evaluation]) -> float:
    """A run that is under way, or was killed, could not say how long it took: its evaluations can, of all devices together."""
    devices = 1 + len(record.header.settings.get("more_devices", ()))
    return max(record.seconds, sum(e.seconds for e in evaluations) / devices)


def recorded_result(result: Mapping[str, Any]) -> dict[str, Any]:
    """A finished run's object as it was recorded; those of earlier versions lack what came later."""
    return {"mode": "template", "more_devices": [], "warm": [], "plan": [], "also_compile": [], "uncertain": None, **result}


def shown_result(record: RunRecord, store: Store) -> dict[str, Any]:
    """What `show RUN` tells: the result as it was recorded; of an unfinished run, what is known so far."""
    if record.result is not None:
        return recorded_result(record.result)
    evaluations = store.evaluations(record.run)
    measured = [e for e in evaluations if e.score is not None]
    record = replace(record, seconds=spent_s(record, evaluations))
    best = min(measured, key=lambda e: e.score or 0.0, default=None)
    return {
        **header_of(record, store.outcome_counts(record.run), store.source_summaries(record.run)),
        "error": record.error,
        "best_so_far": {"config": dict(best.configuration.pairs), "speedup": 1 / best.score} if best and best.score else None,
        "stored_in": str(store.path),
    }


def round_entries(plans: Sequence[RoundRecord], reports: Sequence[RoundReport]) -> list[dict[str, Any]]:
    """What was planned in each round, why, and what came of it; empty for a run that searched the kernel's own template."""
    searched = {report.number: report for report in reports}
    return [
        {
            "round": about.number,
            "reason": about.plan["reason"],
            "findings": [finding["text"] for finding in about.plan["findings"]],
            "forms": {entry["number"]: entry["hypothesis"] for entry in about.plan.get("proposals", ())},
            "applied": list(about.report["applied"]),
            "declined": dict(about.report["declined"]),
            "postponed": list(about.report.get("postponed", ())),  # unknown to rounds of earlier versions
            "evaluations": searched[about.number].evaluations if about.number in searched else 0,
            "speedup": round(searched[about.number].speedup, 4) if about.number in searched else None,
            "template": about.kernel_path,
        }
        for about in plans
    ]


def claim_entry(workload: str, claim: Claim, roof: Roof) -> dict[str, Any]:
    entry = _entry(claim, claim.median_us, claim.speedup, roof.fraction(workload, claim.median_us))
    return {**entry, "baseline_us": round(claim.baseline_us, 3)}


def overall_entry(claims: Mapping[str, Claim], speedup: Ratio, weights: Mapping[str, float], roof: Roof) -> dict[str, Any]:
    """One configuration over all tuning workloads: weighted geometric means, with the workloads beneath."""
    entries = {w: claim_entry(w, claims[w], roof) for w in weights}
    fractions = {w: entry["roofline_fraction"] for w, entry in entries.items()}
    known = all(fraction is not None for fraction in fractions.values())
    median_us = weighted_mean({w: claims[w].median_us for w in weights}, weights)
    first = next(iter(claims.values()))
    entry = _entry(first, median_us, speedup, round(weighted_mean(fractions, weights), 4) if known else None)
    entry["verified"] = all(e["verified"] for e in entries.values())
    return {**entry, "workloads": entries}


def _entry(claim: Claim, median_us: float, speedup: Ratio, fraction: float | None) -> dict[str, Any]:
    return {
        "config": dict(claim.configuration.pairs),
        "median_us": round(median_us, 3),
        "speedup": round(speedup.value, 4),
        "ci95": [round(speedup.low, 4), round(speedup.high, 4)],
        "roofline_fraction": fraction,
        "verified": claim.verdict.passed,
        "max_error": claim.verdict.max_error,
    }
