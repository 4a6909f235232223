"""Several kernels under one budget: tune, resume, show."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from warpsmith.api.notebook import notebook_progress
from warpsmith.api.runs import report_run
from warpsmith.core.errors import InputError
from warpsmith.record.batches import Batches
from warpsmith.record.faults import system_fault
from warpsmith.record.store import Store
from warpsmith.search.registry import DEFAULT_STRATEGY, load_strategy
from warpsmith.settings import are_races_checked, claim_processes, is_report_wanted, read_settings
from warpsmith.spec.several import find_kernels
from warpsmith.tuning.agent.allowance import Allowance
from warpsmith.tuning.batch.options import BatchOptions
from warpsmith.tuning.batch.result import batch_result
from warpsmith.tuning.batch.visit import RunVisit
from warpsmith.tuning.batch.work import require_budget, work
from warpsmith.tuning.budget import Budget
from warpsmith.tuning.evaluation.alike import parse_devices
from warpsmith.tuning.events import Emit, Warned
from warpsmith.tuning.order import DEFAULT_ROUNDS, Mode, parse_mode


def tune_batch(
    kernels: str | Path | Sequence[str | Path],
    *,
    device: str = "cpu",
    strategy: str = DEFAULT_STRATEGY,
    budget: Budget | None = None,
    seed: int = 0,
    agent: str | None = None,
    rounds: int = DEFAULT_ROUNDS,
    also_compile: Iterable[str] = (),
    mode: str = Mode.TEMPLATE,
    allowance: Allowance | None = None,
    workers: int | str | None = None,
    proved_only: bool = False,
    knowledge: bool = True,
    emit: Emit | None = None,
) -> dict[str, Any]:
    """Tune several kernels, or all below a folder, and return the object that `warpsmith tune FOLDER --json` prints.

    `budget` and `allowance` are for all of them together; by default as many evaluations as the kernels would have one by one. A
    kernel that fails costs only itself. The other arguments are those of `tune`.
    """
    names = [kernels] if isinstance(kernels, str | Path) else list(kernels)
    found = find_kernels(names)
    if not found:
        raise InputError("no kernels to tune", hint="name kernels, or a folder with kernel folders")
    settings = read_settings()
    budget = budget or Budget((Budget().evaluations or 0) * len(found))
    spending = allowance or Allowance()
    options = BatchOptions(
        budget.evaluations,
        budget.seconds,
        device=device,
        agent=agent,
        strategy=strategy,
        seed=seed,
        rounds=rounds,
        mode=parse_mode(mode),
        max_usd=spending.usd,
        max_tokens=spending.tokens,
        also_compile=tuple(dict.fromkeys(also_compile)),
        workers=workers,
        proved_only=proved_only,
        knowledge=knowledge,
    )
    # What would fail for every kernel alike is said before anything is measured.
    load_strategy(strategy)
    claim_processes()
    are_races_checked()
    require_budget(options, sum(one.problem is None for one in found))
    parse_devices(device)
    with Batches(settings.database) as batches:
        batch = batches.begin(
            options.as_dict(), [(one.name, str(one.path), one.problem.as_dict() if one.problem else None) for one in found]
        )
    emit = emit or notebook_progress()
    for one in found:
        if one.problem is not None:
            emit(Warned(f"{one.name} is left out: {one.problem}"))
    return _worked(batch, emit)


def resume_batch(batch: str, *, emit: Emit | None = None) -> dict[str, Any]:
    """Go on with a batch that was stopped or killed; a finished one is returned as it is."""
    with Batches(read_settings().database, reading=True) as batches:
        name = batches.find(batch).batch
    return _worked(name, emit or notebook_progress())


def show_batch(batch: str) -> dict[str, Any]:
    """The object of `tune FOLDER --json`, of an unfinished batch too."""
    settings = read_settings()
    with Batches(settings.database, reading=True) as batches, Store(settings.database, reading=True) as store:
        return batch_result(batches.find(batch), store, settings)


def list_batches() -> list[dict[str, Any]]:
    """The latest first, without their kernels."""
    settings = read_settings()
    with Batches(settings.database, reading=True) as batches, Store(settings.database, reading=True) as store:
        known = [batch_result(record, store, settings) for record in batches.all()]
    return [{**{k: v for k, v in each.items() if k != "kernels"}, "kernels": len(each["kernels"])} for each in known]


def report_batch(batch: str, output: Path | None = None) -> dict[str, Any]:
    """Write a batch as one HTML page that links to the reports of its runs; without `output` it lies in the batch's folder."""
    from warpsmith.report.html.batch import batch_page  # noqa: PLC0415 - only where one is wanted
    from warpsmith.report.html.whole import write_text  # noqa: PLC0415

    settings = read_settings()
    result = show_batch(batch)
    file = (output or settings.batch_report_file(result["batch"])).expanduser().absolute()
    if file.is_dir():
        raise InputError(f"{file} is a folder, expected a file", hint=f"for example -o {file / 'report.html'}")
    links = {e["run"]: os.path.relpath(e["report"], file.parent) for e in result["kernels"] if e["report"] is not None}
    try:
        write_text(batch_page(result, links), file)
    except (FileExistsError, NotADirectoryError) as error:
        raise InputError(f"the report cannot be written to {file}: {error.strerror or error}") from error
    except OSError as error:
        raise system_fault(error, file) from error
    return {"batch": result["batch"], "report": str(file)}


def is_batch(name: str) -> str | None:
    """The batch that a name means which may also be a run's, if any."""
    settings = read_settings()
    with Batches(settings.database, reading=True) as batches, Store(settings.database, reading=True) as store:
        return batches.meant_by(name, store.runs())


def _worked(batch: str, emit: Emit) -> dict[str, Any]:
    settings, wanted = read_settings(), is_report_wanted()

    def claimed(run: str) -> None:
        if not wanted:
            return
        try:
            report_run(run)
        except Exception as error:  # noqa: BLE001 - a run that took hours does not fail over its picture
            emit(Warned(f"the report could not be written: {error} (`warpsmith report {run}` tries again)"))

    with Batches(settings.database) as batches:
        record = batches.find(batch)
    visit = RunVisit(batch, len(record.members), BatchOptions.of(record.settings), settings, emit, claimed)
    work(batch, settings, visit, emit)
    try:
        report_batch(batch)
    except Exception as error:  # noqa: BLE001 - as above
        emit(Warned(f"the summary could not be written: {error} (`warpsmith report {batch}` tries again)"))
    return show_batch(batch)
