"""The object that `tune FOLDER --json` prints: a batch, kernel by kernel, finished or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from warpsmith.core.jsonable import as_json
from warpsmith.measure.statistics import weighted_mean
from warpsmith.record.batches import BatchRecord, BatchShare, Member
from warpsmith.record.lock import as_seen, is_held
from warpsmith.record.run import Status
from warpsmith.record.store import Store
from warpsmith.settings import Settings
from warpsmith.tuning.result import shown_result

_OPTIONS = ("device", "agent", "strategy", "seed")


def batch_result(record: BatchRecord, store: Store, settings: Settings) -> dict[str, Any]:
    kernels = [_kernel(member, record.shares, store, settings) for member in record.members]
    status = record.status
    if status is Status.RUNNING and not is_held(settings.batch_folder(record.batch)):
        status = Status.KILLED
    speedups = {entry["run"]: entry["general"]["speedup"] for entry in kernels if entry["general"] is not None}
    report = settings.batch_report_file(record.batch)
    return {
        "batch": record.batch,
        "status": status,
        **{name: record.settings.get(name) for name in _OPTIONS},
        "budget": {name: record.settings.get(name) for name in ("evaluations", "seconds")},
        "evaluations": sum(entry["evaluations"] for entry in kernels),
        "seconds": round(sum(entry["seconds"] for entry in kernels), 3),
        "speedup": round(weighted_mean(speedups, dict.fromkeys(speedups, 1.0)), 4) if speedups else None,
        "kernels": kernels,
        "report": str(report) if report.is_file() else None,
        "stored_in": str(settings.database),
    }


def is_complete(result: Mapping[str, Any]) -> bool:
    """Whether each kernel has a verified result."""
    return all(entry["general"] is not None and entry["general"]["verified"] for entry in result["kernels"])


def _kernel(member: Member, shares: Sequence[BatchShare], store: Store, settings: Settings) -> dict[str, Any]:
    own = [{"stage": s.stage, "evaluations": s.evaluations, "seconds": s.seconds, "reason": s.reason} for s in shares]
    entry: dict[str, Any] = {
        "kernel": member.kernel,
        "path": member.kernel_path,
        "run": member.run,
        "status": "failed" if member.error is not None else "waiting",
        "evaluations": 0,
        "seconds": 0.0,
        "shares": [given for given, share in zip(own, shares, strict=True) if share.place == member.place],
        "baseline": None,
        "general": None,
        "uncertain": None,
        "best_so_far": None,
        "error": member.error,
        "report": None,
    }
    record = next((r for r in store.meant_by(member.run) if r.run == member.run), None)
    if record is None:
        return entry
    record = as_seen(record, settings.run_folder(record.run))
    result = shown_result(record, store)
    report: Path = settings.report_file(record.run)
    return {
        **entry,
        "status": "failed" if member.error is not None else record.status,
        "evaluations": sum(result.evaluations.values()),
        "seconds": result.seconds,
        **{key: as_json(getattr(result, key, None)) for key in ("baseline", "general", "uncertain", "best_so_far")},
        "report": str(report) if report.is_file() else None,
    }
