"""The Python face of Warpsmith: what the command line does, as functions.

import warpsmith

kernel = warpsmith.load_kernel("fused_add_rmsnorm")
result = warpsmith.tune(kernel, budget=warpsmith.Budget(evaluations=40))
print(result["general"]["speedup"], result["general"]["ci95"])
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from warpsmith.compile.pool import CompilePool
from warpsmith.core.configuration import Configuration, Value
from warpsmith.core.errors import InputError, UnavailableError
from warpsmith.core.outcome import Evaluation, Measured
from warpsmith.devices.base import DeviceInfo
from warpsmith.devices.registry import device_names
from warpsmith.record.store import RunRecord, Store
from warpsmith.refactor.emit import check_folder
from warpsmith.refactor.registry import load_passes
from warpsmith.replay import ReplayResult, replay
from warpsmith.search.importance import Importance
from warpsmith.search.registry import DEFAULT_STRATEGY
from warpsmith.settings import read_settings
from warpsmith.spec.kernel import Kernel
from warpsmith.spec.load import load_kernel
from warpsmith.template import Template
from warpsmith.tuning import run as tuning_run
from warpsmith.tuning.agents import default_agent
from warpsmith.tuning.budget import Budget
from warpsmith.tuning.events import Emit, ignore
from warpsmith.tuning.explain import explain, importance_entry
from warpsmith.tuning.order import DEFAULT_ROUNDS, Order
from warpsmith.tuning.probes import laboratory
from warpsmith.tuning.result import header_of, recorded_result
from warpsmith.tuning.templating import template_entry
from warpsmith.tuning.templating import templatize as make_template
from warpsmith.tuning.warm import find_sources

__all__ = [
    "Budget",
    "ReplayResult",
    "describe_device",
    "list_devices",
    "list_runs",
    "load_kernel",
    "parse_configuration",
    "replay",
    "resume",
    "show_run",
    "templatize",
    "tune",
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
    emit: Emit = ignore,
) -> dict[str, Any]:
    """Tune a kernel and return the object that `warpsmith tune --json` prints.

    `agent` refactors the untouched original in up to so many `rounds`; "none" searches the kernel's own template, which is also
    what happens when it has one and no agent is named. `warm` names what to start from: earlier runs (or `last`), Kernel Tuner
    caches, T4 files.
    """
    settings = read_settings()
    with Store(settings.database) as store:
        sources = find_sources(warm, store)
    chosen = agent or default_agent(kernel)
    order = Order(kernel, device, strategy, budget or Budget(), seed, sources, chosen, rounds)
    return tuning_run.start(order, settings, emit)


def templatize(
    kernel: Kernel,
    *,
    device: str = "cpu",
    passes: Iterable[str] | None = None,
    output: Path | None = None,
    emit: Emit = ignore,
) -> dict[str, Any]:
    """Make a template of the untouched kernel and return the object that `warpsmith templatize --json` prints.

    `passes` names the refactoring passes to try (all of them when not given), `output` the folder for source and kernel.toml.
    """
    settings = read_settings()
    folder = output or settings.template_folder(kernel.name)
    chosen = load_passes(passes)
    check_folder(folder, kernel)  # a mistake of the user's, so before anything is compiled
    with laboratory(kernel, device, binary_cache=settings.binary_cache) as lab:
        made = make_template(kernel, lab, passes=chosen, folder=folder, emit=emit)
    return {"kernel": kernel.name, "device": device, **template_entry(made)}


def resume(run: str = "last", *, emit: Emit = ignore) -> dict[str, Any]:
    """Go on with a stopped run; a finished one is returned as it is recorded."""
    return tuning_run.resume(run, read_settings(), emit)


def describe_device(name: str) -> DeviceInfo:
    with CompilePool(name, cache_dir=None) as pool:
        return pool.describe()


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
    with Store(read_settings().database) as store:
        return [
            {
                "run": record.run,
                "kernel": record.header.kernel,
                "device": record.header.device,
                "status": record.status,
                "created_at": record.created_at,
                "evaluations": sum(store.outcome_counts(record.run).values()),
                "speedup": record.result["general"]["speedup"] if record.result else None,
            }
            for record in store.runs()
        ]


def show_run(
    run: str = "last", *, evaluations: bool = False, importance: bool = False, output: Path | None = None
) -> dict[str, Any]:
    """The object of `tune --json`; of an unfinished run, what is known of it so far.

    `evaluations` adds every one, `importance` which parameters mattered, and `output` is a folder for the plot of that.
    """
    settings = read_settings()
    with Store(settings.database) as store:
        record = store.find(run)
        known = store.evaluations(record.run)
        result = recorded_result(record.result) if record.result is not None else _unfinished(store, record, known)
        if evaluations:
            result["evaluation_list"] = [_evaluation_entry(e) for e in known]
        if importance:
            found = explain(record, store)
            result["importance"] = importance_entry(found)
            if output is not None and isinstance(found, Importance):
                from warpsmith.report.importance import draw_importance  # noqa: PLC0415 - plotting libraries only when they plot

                title = f"{record.header.kernel} on {record.header.device}: which parameters mattered"
                draw_importance(found, title, output / "importance")
        return result


def _unfinished(store: Store, record: RunRecord, known: list[Evaluation]) -> dict[str, Any]:
    measured = [e for e in known if e.score is not None]
    best = min(measured, key=lambda e: e.score or 0.0, default=None)
    return {
        **header_of(record, store.outcome_counts(record.run), store.source_summaries(record.run)),
        "best_so_far": {"config": dict(best.configuration.pairs), "speedup": 1 / best.score} if best and best.score else None,
        "stored_in": str(store.path),
    }


def _evaluation_entry(evaluation: Evaluation) -> dict[str, Any]:
    outcome = evaluation.outcome
    summary = f"{1 / outcome.score:.3f}x" if isinstance(outcome, Measured) else outcome.reason
    return {
        "config": dict(evaluation.configuration.pairs),
        "outcome": type(outcome).__name__,
        "summary": summary,
        "seconds": evaluation.seconds,
    }


def parse_configuration(template: Template, text: str) -> Configuration:
    """`A=1 B=2`, the rest at their defaults."""
    values: dict[str, Value] = {p.name: p.default for p in template.parameters}
    candidates = {p.name: p.values for p in template.parameters}
    for item in text.replace(",", " ").split():
        name, _, written = item.partition("=")
        if name not in candidates:
            raise InputError(f"{name!r} is not a parameter", hint=f"the parameters are {', '.join(candidates)}")
        matching = [value for value in candidates[name] if str(value) == written]
        if not matching:
            raise InputError(
                f"{name}={written} is not among its values", hint=f"{name} may be {', '.join(map(str, candidates[name]))}"
            )
        values[name] = matching[0]
    return Configuration.of(values)
