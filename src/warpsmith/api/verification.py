"""Verify a kernel, or a run's results again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from warpsmith.api.runs import found_run
from warpsmith.export.earlier import is_export, read_export
from warpsmith.record.required import require_result
from warpsmith.record.store import Store
from warpsmith.settings import read_settings
from warpsmith.spec.kernel import Kernel
from warpsmith.tuning.afterwards.choices import OfTemplate, choices_of
from warpsmith.tuning.afterwards.verification import DEFAULT_SEEDS, verify_builds, verify_configurations, winners_of
from warpsmith.tuning.events import Emit, ignore
from warpsmith.verify.seeds import fresh_seeds


def verify_run(
    run: str = "last", *, device: str | None = None, seeds: int = DEFAULT_SEEDS, emit: Emit = ignore
) -> dict[str, Any]:
    """Verify a run's winners and the original again, and return the object that `warpsmith verify --json` prints.

    They are recompiled and run on every workload with inputs of so many seeds that the run did not use. `run` may also be a
    folder that `warpsmith export` wrote: then its files are verified as they lie there. `device` is the run's by default.
    """
    folder = Path(run)
    exported = read_export(folder) if is_export(run) else None
    settings = read_settings()
    with Store(settings.database, reading=True) as store:
        record = found_run(exported.run if exported is not None else run, store, settings)
        require_result(record, "to verify")
        choices = choices_of(record, store)
        adversaries = store.adversaries(record.run)
    fresh, where = fresh_seeds(seeds), device or record.header.device
    if exported is not None:
        builds = exported.builds(choices.kernel)
        found = verify_builds(choices, builds, where, seeds=fresh, adversaries=adversaries, emit=emit)
    else:
        winners = winners_of(record, choices.kernel)
        found = verify_configurations(choices, winners, where, seeds=fresh, adversaries=adversaries, emit=emit)
    about = {"run": record.run, "kernel": choices.kernel.name, "folder": str(folder) if exported is not None else None}
    return {**about, **found.as_dict()}


def verify_kernel(kernel: Kernel, *, device: str = "cpu", seeds: int = DEFAULT_SEEDS, emit: Emit = ignore) -> dict[str, Any]:
    """Verify a kernel as it is, before anything is tuned, and return the object that `warpsmith verify FOLDER --json` prints.

    On every workload, against its reference; without one, whether it gives the same again. Races fail it, too.
    """
    found = verify_configurations(OfTemplate.of(kernel), {}, device, seeds=fresh_seeds(seeds), emit=emit)
    return {"run": None, "kernel": kernel.name, "folder": None, **found.as_dict()}
