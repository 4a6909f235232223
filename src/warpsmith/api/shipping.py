"""Exports a run's winner as files that do not need Warpsmith."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from warpsmith.api.runs import found_run
from warpsmith.export.delivery import deliver
from warpsmith.export.registry import DEFAULT_FORMAT, load_exporter
from warpsmith.export.shipment import shipment_of
from warpsmith.record.required import require_result
from warpsmith.record.store import Store
from warpsmith.settings import read_settings
from warpsmith.tuning.afterwards.choices import choices_of
from warpsmith.tuning.afterwards.recheck import Adversaries, recheck
from warpsmith.tuning.evaluation.round import extended


def export_run(
    run: str = "last", output: Path | None = None, *, format_name: str = DEFAULT_FORMAT, verify: bool = True, force: bool = False
) -> dict[str, Any]:
    """Write a run's winner as files that need no Warpsmith, and return the object that `warpsmith export --json` prints.

    The files themselves are compiled and verified on every workload before they appear in `output`, unless `verify` is off.
    `force` exports a configuration that shows no gain.
    """
    load_exporter(format_name)  # a format that is not there is said first: all else may take another try
    settings = read_settings()
    with Store(settings.database, reading=True) as store:
        record = found_run(run, store, settings)
        require_result(record, "to export")  # before the kernel, which may be what it failed for
        choices = choices_of(record, store)
        # With the inputs that the original was right on; until there were such seeds, inputs had the run's.
        seed = (store.input_seeds(record.run) or [record.header.seed])[-1]
        adversaries = Adversaries(tuple(store.adversaries(record.run)), seed)
        known = extended(store.evaluations(record.run), choices.kernel.default_configuration)
    shipment = shipment_of(record, choices, evaluations=known, adversaries=adversaries.workloads, force=force)
    cache, device = settings.binary_cache, record.header.device
    check = partial(recheck, choices, device=device, binary_cache=cache, adversaries=adversaries) if verify else None
    return deliver(shipment, format_name, output or settings.home / "exports" / record.run, check)
