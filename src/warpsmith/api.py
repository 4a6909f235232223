"""The Python face of Warpsmith: what the command line does, as functions.

import warpsmith

kernel = warpsmith.load_kernel("fused_add_rmsnorm")
result = warpsmith.tune(kernel, budget=warpsmith.Budget(evaluations=40))
print(result["general"]["speedup"], result["general"]["ci95"])
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

from warpsmith.compile.pool import describe_device
from warpsmith.core.errors import InputError, Stopped, UnavailableError
from warpsmith.core.outcome import Evaluation, Measured
from warpsmith.core.output_folder import require_output_folder
from warpsmith.devices.base import DeviceInfo
from warpsmith.devices.registry import device_names
from warpsmith.export.delivery import deliver
from warpsmith.export.earlier import is_export, read_export
from warpsmith.export.registry import DEFAULT_FORMAT, load_exporter
from warpsmith.export.shipment import shipment_of
from warpsmith.record.faults import system_fault
from warpsmith.record.lock import as_seen
from warpsmith.record.required import require_result
from warpsmith.record.run import RunRecord
from warpsmith.record.store import Store
from warpsmith.refactor.drafting.emit import check_folder
from warpsmith.refactor.proposal import ProposedForms
from warpsmith.refactor.registry import load_passes
from warpsmith.replay import ReplayResult, replay
from warpsmith.report.lab_book import lab_book
from warpsmith.search.importance import Importance
from warpsmith.search.registry import DEFAULT_STRATEGY
from warpsmith.settings import Settings, read_settings
from warpsmith.spec.kernel import Kernel
from warpsmith.spec.load import load_kernel
from warpsmith.study import KernelStudy, Study
from warpsmith.tuning import run as tuning_run
from warpsmith.tuning.afterwards.account import account_of
from warpsmith.tuning.afterwards.explain import explain, importance_entry
from warpsmith.tuning.afterwards.recheck import Adversaries, recheck
from warpsmith.tuning.afterwards.verification import DEFAULT_SEEDS as DEFAULT_VERIFY_SEEDS
from warpsmith.tuning.afterwards.verification import fresh_seeds, verify_builds, verify_configurations, winners_of
from warpsmith.tuning.agent.agents import RULES, default_agent, load_agent
from warpsmith.tuning.agent.allowance import Allowance
from warpsmith.tuning.agent.secretary import desk_without_record
from warpsmith.tuning.agent.writing import form_by
from warpsmith.tuning.alike import parse_devices
from warpsmith.tuning.budget import Budget
from warpsmith.tuning.choices import OfTemplate, choices_of
from warpsmith.tuning.comparison.plan import DEFAULT_EVALUATIONS, DEFAULT_SEEDS, Plan
from warpsmith.tuning.comparison.run import Progress
from warpsmith.tuning.comparison.run import compare as run_comparison
from warpsmith.tuning.events import Emit, Warned, ignore
from warpsmith.tuning.order import DEFAULT_ROUNDS, Mode, Order, parse_mode
from warpsmith.tuning.result import shown_result
from warpsmith.tuning.round import extended
from warpsmith.tuning.templates.probes import laboratory
from warpsmith.tuning.templates.templating import template_entry
from warpsmith.tuning.templates.templating import templatize as make_template
from warpsmith.tuning.warm import find_sources

__all__ = [
    "Allowance",
    "Budget",
    "KernelStudy",
    "ReplayResult",
    "Study",
    "compare",
    "describe_device",
    "export_run",
    "list_devices",
    "list_runs",
    "load_kernel",
    "replay",
    "report_run",
    "resume",
    "show_run",
    "templatize",
    "tune",
    "verify_kernel",
    "verify_run",
]


def tune(
    kernel: Kernel,
    *,
    device: str = "cpu",
    strategy: str = DEFAULT_STRATEGY,
    budget: Budget | None = None,
    seed: int = 0,
    warm: Iterable[str | Path] = (),
    agent: str | None = None,
    rounds: int = DEFAULT_ROUNDS,
    also_compile: Iterable[str] = (),
    mode: str = Mode.TEMPLATE,
    allowance: Allowance | None = None,
    workers: int | None = None,
    emit: Emit = ignore,
) -> dict[str, Any]:
    """Tune a kernel and return the object that `warpsmith tune --json` prints.

    `agent` refactors the untouched original in up to so many `rounds`; "none" searches the kernel's own template, which is also
    what happens when it has one and no agent is named. `warm` names what to start from: earlier runs (or `last`), Kernel Tuner
    caches, T4 files. In `mode` "direct" the agent rewrites the whole kernel for each evaluation. `also_compile` names targets
    (sm_90, gfx942, h100-sxm) on which every configuration must be able to run. `allowance` is what a language model may cost.
    `workers` is how many processes compile, instead of as many as the cores suggest. Several devices alike (cuda:0,cuda:1) search
    together; what is claimed is measured on the first.
    """
    settings = read_settings()
    with Store(settings.database, reading=True) as store:
        sources = find_sources(warm, store)
    parsed = parse_mode(mode)
    chosen = agent or (RULES if parsed is Mode.DIRECT else default_agent(kernel))
    first, more = parse_devices(device)
    order = Order(
        kernel,
        device=first,
        strategy=strategy,
        budget=budget or Budget(),
        seed=seed,
        warm=sources,
        agent=chosen,
        rounds=rounds,
        mode=parsed,
        allowance=allowance or Allowance(),
        also_compile=tuple(dict.fromkeys(also_compile)),
        workers=workers,
        more_devices=more,
    )
    return _with_report(tuning_run.start(order, settings, emit), emit)


def compare(
    kernel: Kernel,
    *,
    seeds: int = DEFAULT_SEEDS,
    budget: Budget | None = None,
    device: str = "cpu",
    agent: str = RULES,
    strategy: str = DEFAULT_STRATEGY,
    rounds: int = DEFAULT_ROUNDS,
    allowance: Allowance | None = None,
    output: Path | None = None,
    progress: Progress = lambda _: None,
) -> dict[str, Any]:
    """Compare direct rewriting with template + search and return the object that `warpsmith compare --json` prints.

    Both modes get the same budget, and a language model the same allowance, for each seed. A comparison that was stopped goes on
    when it is asked for again with the same arguments.
    `output` is a folder for compare.md, compare.json and the plot.
    """
    settings = read_settings()
    if output is not None:
        require_output_folder(output)
    plan = Plan(kernel, device, agent, strategy, budget or Budget(DEFAULT_EVALUATIONS), seeds, rounds, allowance or Allowance())
    result = run_comparison(plan, settings, progress)
    kept = settings.comparison_folder(result.name)
    for folder in dict.fromkeys((output or kept, kept)):
        result.write(folder)
    return {**result.as_dict(), "output": str(output or kept)}


def templatize(
    kernel: Kernel,
    *,
    device: str = "cpu",
    passes: Iterable[str] | None = None,
    agent: str = RULES,
    allowance: Allowance | None = None,
    output: Path | None = None,
    emit: Emit = ignore,
) -> dict[str, Any]:
    """Make a template of the untouched kernel and return the object that `warpsmith templatize --json` prints.

    `passes` names the refactoring passes to try (all of them when not given), `output` the folder for source and kernel.toml.
    An `agent` other than the rules first writes a form of its own, within its `allowance`; passes then work on both forms.
    """
    settings = read_settings()
    folder = output or settings.template_folder(kernel.name)
    chosen = load_passes(passes)
    # Mistakes of the user's, so before anything is compiled.
    require_output_folder(folder)
    check_folder(folder, kernel)
    author = load_agent(agent, desk_without_record(allowance or Allowance(), emit), alone=True) if agent != RULES else None
    with laboratory(kernel, device, binary_cache=settings.binary_cache) as lab:
        found = form_by(author, kernel, lab) if author is not None else None
        if found is not None and found.problem is None:
            chosen.append(ProposedForms((found.proposal,)))
        made = make_template(kernel, lab, passes=chosen, folder=folder, emit=emit)
    form = {"hypothesis": found.proposal.hypothesis, "problem": found.problem} if found is not None else None
    return {"kernel": kernel.name, "device": device, "agent": agent, "form": form, **template_entry(made)}


def resume(run: str = "last", *, emit: Emit = ignore) -> dict[str, Any]:
    """Go on with a stopped run; a finished one is returned as it is recorded."""
    return _with_report(tuning_run.resume(run, read_settings(), emit), emit)


def list_devices() -> dict[str, DeviceInfo | UnavailableError]:
    """Every known device: what it is, or why it is not there."""
    found: dict[str, DeviceInfo | UnavailableError] = {}
    for name in device_names():
        try:
            found[name] = describe_device(name)
        except UnavailableError as error:
            found[name] = error
    return found


def list_runs() -> list[dict[str, Any]]:
    """The latest first; one whose record is damaged is among them, as `unreadable`."""
    settings = read_settings()
    with Store(settings.database, reading=True) as store:
        return [
            {
                "run": record.run,
                "kernel": record.header.kernel,
                "device": record.header.device,
                "status": as_seen(record, settings.run_folder(record.run)).status,
                "created_at": record.created_at,
                "evaluations": sum(store.outcome_counts(record.run).values()),
                "speedup": ((record.result or {}).get("general") or {}).get("speedup"),
            }
            for record in store.runs()
        ]


def show_run(
    run: str = "last",
    *,
    evaluations: bool = False,
    importance: bool = False,
    transcript: bool = False,
    output: Path | None = None,
) -> dict[str, Any]:
    """The object of `tune --json`; of an unfinished run, what is known of it so far.

    `evaluations` adds every one, `importance` which parameters mattered, `transcript` what was said to models and by them, and
    `output` is a folder for the plot of the importance.
    """
    settings = read_settings()
    if output is not None:
        require_output_folder(output)
    with Store(settings.database, reading=True) as store:
        record = _found(run, store, settings)
        known = store.evaluations(record.run)
        result = {**shown_result(record, store), "report": _existing(settings.report_file(record.run))}
        if evaluations:
            result["evaluation_list"] = [_evaluation_entry(e) for e in known]
        if transcript:
            result["transcript"] = lab_book(record, store)
        if importance:
            mattered = explain(record, store)
            result["importance"] = importance_entry(mattered)
            if output is not None and isinstance(mattered, Importance):
                from warpsmith.report.importance import draw_importance  # noqa: PLC0415 - plotting libraries only when they plot

                title = f"{record.header.kernel} on {record.header.device}: which parameters mattered"
                draw_importance(mattered, title, output / "importance")
        return result


def report_run(run: str = "last", output: Path | None = None) -> dict[str, Any]:
    """Write a run as one HTML file and return the object that `warpsmith report --json` prints.

    Without `output` it lies in the run's own folder. Runs that are not finished have a report too: of what is known so far.
    """
    from warpsmith.report.html.document import write_page  # noqa: PLC0415 - plotting libraries only when they plot

    settings = read_settings()
    with Store(settings.database, reading=True) as store:
        record = _found(run, store, settings)
        file = (output or settings.report_file(record.run)).expanduser().absolute()
        if file.is_dir():
            raise InputError(f"{file} is a folder, expected a file", hint=f"for example -o {file / 'report.html'}")
        try:
            write_page(account_of(record, store), file)
        except (FileExistsError, NotADirectoryError) as error:
            raise InputError(f"the report cannot be written to {file}: {error.strerror or error}") from error
        except OSError as error:
            raise system_fault(error, file) from error
    return {"run": record.run, "report": str(file)}


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
        record = _found(run, store, settings)
        require_result(record, "to export")  # before the kernel, which may be what it failed for
        choices = choices_of(record, store)
        adversaries = Adversaries(tuple(store.adversaries(record.run)), record.header.seed)
        known = extended(store.evaluations(record.run), choices.kernel.default_configuration)
    shipment = shipment_of(record, choices, evaluations=known, adversaries=adversaries.workloads, force=force)
    cache, device = settings.binary_cache, record.header.device
    check = partial(recheck, choices, device=device, binary_cache=cache, adversaries=adversaries) if verify else None
    return deliver(shipment, format_name, output or settings.home / "exports" / record.run, check)


def verify_run(
    run: str = "last", *, device: str | None = None, seeds: int = DEFAULT_VERIFY_SEEDS, emit: Emit = ignore
) -> dict[str, Any]:
    """Verify a run's winners and the original again, and return the object that `warpsmith verify --json` prints.

    They are compiled anew and run on every workload with inputs of so many seeds that the run did not use. `run` may also be a
    folder that `warpsmith export` wrote: then its files are verified as they lie there. `device` is the run's by default.
    """
    folder = Path(run)
    exported = read_export(folder) if is_export(run) else None
    settings = read_settings()
    with Store(settings.database, reading=True) as store:
        record = _found(exported.run if exported is not None else run, store, settings)
        require_result(record, "to verify")
        choices = choices_of(record, store)
        adversaries = store.adversaries(record.run)
    fresh, where = fresh_seeds(seeds, record.header.seed), device or record.header.device
    if exported is not None:
        builds = exported.builds(choices.kernel)
        found = verify_builds(choices, builds, where, seeds=fresh, adversaries=adversaries, emit=emit)
    else:
        winners = winners_of(record, choices.kernel)
        found = verify_configurations(choices, winners, where, seeds=fresh, adversaries=adversaries, emit=emit)
    about = {"run": record.run, "kernel": choices.kernel.name, "folder": str(folder) if exported is not None else None}
    return {**about, **found.as_dict()}


def is_run(name: str) -> bool:
    """Whether a name that may also be a kernel's means a run: its own name, the beginning of one, or `last`."""
    with Store(read_settings().database, reading=True) as store:
        return name == "last" or bool(store.meant_by(name))


def verify_kernel(
    kernel: Kernel, *, device: str = "cpu", seeds: int = DEFAULT_VERIFY_SEEDS, emit: Emit = ignore
) -> dict[str, Any]:
    """Verify a kernel as it is, before anything is tuned, and return the object that `warpsmith verify FOLDER --json` prints.

    On every workload, against its reference; without one, whether it gives the same again. Races fail it, too.
    """
    found = verify_configurations(OfTemplate.of(kernel), {}, device, seeds=fresh_seeds(seeds), emit=emit)
    return {"run": None, "kernel": kernel.name, "folder": None, **found.as_dict()}


def _with_report(result: dict[str, Any], emit: Emit) -> dict[str, Any]:
    """The result, which is on record already, with its report: what keeps that from being written is a note."""
    try:
        return {**result, "report": report_run(result["run"])["report"]}
    except KeyboardInterrupt as cause:
        raise Stopped.by(cause, result["run"]) from cause
    except Exception as error:  # noqa: BLE001 - a run that took hours does not fail over its picture
        emit(Warned(f"the report could not be written: {error} (`warpsmith report {result['run']}` tries again)"))
        return {**result, "report": None}


def _found(run: str, store: Store, settings: Settings) -> RunRecord:
    """As it is now: a run whose process is gone is not running, whatever the record says."""
    record = store.find(run)
    return as_seen(record, settings.run_folder(record.run))


def _existing(file: Path) -> str | None:
    return str(file) if file.is_file() else None


def _evaluation_entry(evaluation: Evaluation) -> dict[str, Any]:
    outcome = evaluation.outcome
    summary = f"{1 / outcome.score:.3f}x" if isinstance(outcome, Measured) else outcome.reason
    return {
        "config": dict(evaluation.configuration.pairs),
        "outcome": type(outcome).__name__,
        "summary": summary,
        "seconds": evaluation.seconds,
    }
