"""Tune a kernel, resume a stopped run, compare template + search with whole rewrites."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from warpsmith.api.notebook import notebook_progress
from warpsmith.api.result import Result
from warpsmith.api.runs import report_run
from warpsmith.compile.pool import describe_device
from warpsmith.core.errors import Stopped
from warpsmith.core.output_folder import require_output_folder
from warpsmith.record.result import RunResult, SearchedRun
from warpsmith.record.run import NO_AGENT
from warpsmith.record.shared import SharedStore
from warpsmith.record.store import Store
from warpsmith.search.registry import DEFAULT_STRATEGY
from warpsmith.settings import is_report_wanted, read_settings, shared_store
from warpsmith.spec.kernel import Kernel
from warpsmith.tuning import run as tuning_run
from warpsmith.tuning.agent.agents import RULES, default_agent
from warpsmith.tuning.agent.allowance import Allowance
from warpsmith.tuning.budget import Budget
from warpsmith.tuning.cluster.machines import parse_cluster
from warpsmith.tuning.comparison.plan import DEFAULT_EVALUATIONS, DEFAULT_SEEDS, ComparisonPlan
from warpsmith.tuning.comparison.run import Progress
from warpsmith.tuning.comparison.run import compare as run_comparison
from warpsmith.tuning.evaluation.alike import parse_devices
from warpsmith.tuning.events import Emit, Warned
from warpsmith.tuning.order import DEFAULT_ROUNDS, Mode, Order, parse_mode
from warpsmith.tuning.rounds.known import AUTO, known_sources
from warpsmith.tuning.rounds.warm import find_sources


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
    workers: int | str | None = None,
    proved_only: bool = False,
    knowledge: bool = True,
    emit: Emit | None = None,
) -> Result:
    """Tune a kernel and return the object that `warpsmith tune --json` prints, which notebooks show as a table.

    `agent` refactors the original in up to `rounds` rounds; "none" searches the kernel's own template, which is also
    what happens when it has one and no agent is named. `warm` names what to start from: earlier runs (or `last`), Kernel Tuner
    caches, T4 files; or `auto`: all that is known, here and in the shared store, of the kernel on the device. In `mode` "direct"
    the agent rewrites the whole kernel for each evaluation. `also_compile` names targets
    (sm_90, gfx942, h100-sxm) on which every configuration must be able to run. `allowance` is what a language model may cost.
    `workers` is how many processes compile, instead of as many as the cores suggest; or a Ray cluster (`ray`, `ray://HOST:PORT`),
    whose devices search too. `proved_only` leaves out what the rules
    conjecture and only test. Several devices alike (cuda:0,cuda:1) search together; what is claimed is measured on the first.
    With `knowledge` the agent is told what earlier runs learnt on similar kernels.
    `emit` gets the run's events; without it a notebook's cell shows them.
    """
    emit, wanted = emit or notebook_progress(), is_report_wanted()
    settings = read_settings()
    with Store(settings.database, reading=True) as store:
        named = list(warm)
        sources = find_sources((name for name in named if name != AUTO), store)
        parsed = parse_mode(mode)
        chosen = agent or (RULES if parsed is Mode.DIRECT else default_agent(kernel))
        first, more = parse_devices(device)
        if AUTO in named:
            shared = SharedStore(address) if (address := shared_store()) is not None else None
            own_template = chosen == NO_AGENT
            sources += known_sources(kernel, describe_device(first), store, shared, emit, own_template=own_template)
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
        workers=workers if isinstance(workers, int) else None,
        cluster=parse_cluster(workers) if isinstance(workers, str) else None,
        more_devices=more,
        proved_only=proved_only,
        knowledge=knowledge,
    )
    return _with_report(tuning_run.start(order, settings, emit), emit, wanted=wanted)


def resume(run: str = "last", *, emit: Emit | None = None) -> Result:
    """Go on with a stopped run; a finished one is returned as it is recorded."""
    emit, wanted = emit or notebook_progress(), is_report_wanted()
    return _with_report(tuning_run.resume(run, read_settings(), emit), emit, wanted=wanted)


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
    plan = ComparisonPlan(
        kernel, device, agent, strategy, budget or Budget(DEFAULT_EVALUATIONS), seeds, rounds, allowance or Allowance()
    )
    result = run_comparison(plan, settings, progress)
    kept = settings.comparison_folder(result.name)
    for folder in dict.fromkeys((output or kept, kept)):
        result.write(folder)
    return {**result.as_dict(), "output": str(output or kept)}


def _with_report(result: RunResult | SearchedRun, emit: Emit, *, wanted: bool) -> Result:
    """The result, which is on record already, with its report: what keeps that from being written is a note."""
    if not wanted:
        return Result({**result.as_json(), "report": None})
    try:
        return Result({**result.as_json(), "report": report_run(result.run)["report"]})
    except KeyboardInterrupt as cause:
        raise Stopped.by(cause, result.run) from cause
    except Exception as error:  # noqa: BLE001 - a run that took hours does not fail over its picture
        emit(Warned(f"the report could not be written: {error} (`warpsmith report {result.run}` tries again)"))
        return Result({**result.as_json(), "report": None})
