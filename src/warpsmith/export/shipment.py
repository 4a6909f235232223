"""From a run's record to an export: only finished runs, verified results and significant gains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from warpsmith.core.configuration import Configuration
from warpsmith.core.errors import WarpsmithError
from warpsmith.core.hardware import Limits
from warpsmith.core.jsonable import as_json
from warpsmith.core.outcome import Evaluation
from warpsmith.export.base import Choices, Pick, Shipment
from warpsmith.export.manifest import figures_entry
from warpsmith.record.required import require_result
from warpsmith.record.result import Claim, Figures, RunResult
from warpsmith.record.run import RunRecord
from warpsmith.spec.kernel import Kernel, Workload


class NothingToShip(WarpsmithError):  # noqa: N818 - reads as the fact it states
    """The run ended well, and there is nothing in it that is worth shipping, or that may be."""


def shipment_of(
    record: RunRecord,
    choices: Choices,
    *,
    evaluations: Sequence[Evaluation] = (),
    adversaries: Sequence[Workload] = (),
    force: bool = False,
) -> Shipment:
    """`choices` are the run's; `force` ships what shows no gain, or none that is certain."""
    kernel = choices.kernel
    result = require_result(record, "to export")
    general, heldout = result.best, result.uncertain.heldout if result.uncertain is not None else result.heldout
    if not general.verified:
        raise NothingToShip(
            f"run {record.run} has no configuration that passed verification on every workload, so nothing is exported",
            hint=f"`warpsmith show {record.run} --evaluations` lists the failures",
        )
    pick = _pick(general, kernel)
    if general.ci95[0] <= 1 and not force:
        raise NothingToShip(_no_gain(record.run, pick, kernel), hint="--force exports it anyway")
    limits = Limits(**record.header.device_info["limits"])
    own = {w: _pick(entry, kernel) for w, entry in result.per_workload.items() if _is_better(entry, general.workloads[w])}
    certificate = result.template.certificate if choices.template is not None and result.template is not None else None
    about = {**_provenance(record, result, heldout), "certificate": as_json(certificate)}
    return Shipment(
        record.run,
        choices,
        limits,
        pick,
        own,
        about,
        tuple(evaluations),
        targets=_targets(record),
        adversaries=tuple(adversaries),
        kernel_file=Path(record.header.kernel_path),
    )


def _targets(record: RunRecord) -> tuple[str, ...]:
    own = record.header.device_info.get("architecture")  # runs of earlier versions do not say it
    also = record.header.settings.get("also_compile", ())
    return (*([own] if own is not None else []), *also)


def _pick(claim: Figures, kernel: Kernel) -> Pick:
    # In the parameters' order, whatever order JSON kept.
    values = {p.name: claim.config.get(p.name, p.default) for p in kernel.parameters}
    return Pick(Configuration.of(values), claim)


def _is_better(own: Claim, general: Claim) -> bool:
    """A file of its own only for what is clearly faster there: the intervals do not overlap."""
    return own.verified and own.config != general.config and own.ci95[0] > general.ci95[1]


def _no_gain(run: str, pick: Pick, kernel: Kernel) -> str:
    if pick.configuration == kernel.default_configuration:
        return f"run {run} found nothing faster than the original, so there is nothing to export"
    low, high = pick.claim.ci95
    return (
        f"run {run} shows no significant gain: {pick.claim.speedup:.3f}x, with a 95 % interval from {low:.3f} to {high:.3f} that"
        " includes 1"
    )


def _provenance(record: RunRecord, result: RunResult, heldout: Mapping[str, Claim]) -> dict[str, Any]:
    info = record.header.device_info
    return {
        "run": record.run,
        "device": record.header.device,
        "device_description": info["description"],
        "versions": dict(info["versions"]),
        "agent": record.header.agent,
        "mode": result.mode,
        "strategy": record.header.strategy,
        "seed": record.header.seed,
        "evaluations": dict(result.evaluations),
        "evidence": as_json(result.evidence),
        "heldout": {w: figures_entry(claim) for w, claim in heldout.items()},
    }
