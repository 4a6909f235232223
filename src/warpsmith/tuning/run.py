"""A run from kernel to result: prepare → search (`rounds.stage`) → finalists and claims (`claims.stage`) → record."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from warpsmith.compile.pool import CompilePool
from warpsmith.core.errors import Stopped, UnavailableError, WarpsmithError
from warpsmith.record.faults import explained
from warpsmith.record.lock import run_lock
from warpsmith.record.required import require_result
from warpsmith.record.result import RunResult, SearchedRun
from warpsmith.record.run import NO_AGENT, RunHeader, Status, new_run_name
from warpsmith.record.shared import SharedStore
from warpsmith.record.store import Store
from warpsmith.refactor.untouched import untouched
from warpsmith.search.registry import load_strategy
from warpsmith.settings import Settings, are_races_checked, claim_processes, shared_store
from warpsmith.tuning.agent.agents import load_agent
from warpsmith.tuning.agent.fallback import WithFallback
from warpsmith.tuning.claims.stage import claim
from warpsmith.tuning.cluster.machines import RayCluster, join
from warpsmith.tuning.context import Inputs, RunContext
from warpsmith.tuning.evaluation.alike import require_alike
from warpsmith.tuning.evaluation.cores import divide_cores
from warpsmith.tuning.evaluation.round import make_round
from warpsmith.tuning.evaluation.targets import Targets, open_targets, require_original
from warpsmith.tuning.events import Emit, PreparationStarted, RunFinished, RunStarted, Warned
from warpsmith.tuning.order import Order, kernel_fingerprint, order_of
from warpsmith.tuning.result import run_state, spent_s, template_entry
from warpsmith.tuning.rounds.desk import desk_of_run
from warpsmith.tuning.rounds.known import publish
from warpsmith.tuning.rounds.stage import Searched, SearchStage
from warpsmith.tuning.rounds.warm import announce, check_sources
from warpsmith.tuning.templates.probes import require_language
from warpsmith.verify.prepared import PreparedWorkload, prepare_all
from warpsmith.verify.seeds import fresh_seed


def start(
    order: Order,
    settings: Settings,
    emit: Emit,
    ready: Mapping[str, PreparedWorkload] | None = None,
    *,
    name: str | None = None,
    claims: bool = True,
) -> RunResult | SearchedRun:
    """`ready` are the kernel's workloads, prepared already: runs that follow each other in one process may share them.

    `name` is what the run is called; by default it gets one of its own. Without `claims` it ends when its search does, as one
    of a comparison; it may then be resumed under a larger budget.
    """
    load_strategy(order.strategy)  # what is the user's mistake is said before anything is measured
    claim_processes()
    are_races_checked()
    emit(PreparationStarted("device"))
    with Store(settings.database) as store, _pool(order, settings) as pool, _targets(order, settings) as targets:
        run = name or new_run_name(order.kernel.name)
        with _cluster(order) as cluster:
            if cluster is not None:
                order = replace(order, places=len(cluster.places(order.device)))
            context = _context(run, order, settings, store, pool, targets, emit, claims=claims, cluster=cluster)
            return _carried_out(context, ready, _header(context))


def resume(
    name: str,
    settings: Settings,
    emit: Emit,
    ready: Mapping[str, PreparedWorkload] | None = None,
    *,
    claims: bool = True,
) -> RunResult | SearchedRun:
    with Store(settings.database) as store:
        record = store.find(name)
        if record.status is Status.FINISHED and record.result is not None:
            return require_result(record, "to resume")
        order = order_of(record, store)
        emit(PreparationStarted("device"))
        with _pool(order, settings) as pool, _targets(order, settings) as targets, _cluster(order) as cluster:
            spent = spent_s(record, store.evaluations(record.run))
            context = _context(
                record.run, order, settings, store, pool, targets, emit, spent_before_s=spent, claims=claims, cluster=cluster
            )
            return _carried_out(context, ready)


# ── prepare ──


def _pool(order: Order, settings: Settings) -> CompilePool:
    cores = divide_cores(order.workers)
    return CompilePool(
        order.device,
        workers=cores.compilers,
        cache_dir=settings.binary_cache,
        cores=cores.compiling,
        lendable=cores.measuring,
        folders=order.kernel.folders,
    )


def _cluster(order: Order) -> AbstractContextManager[RayCluster | None]:
    return join(order.cluster) if order.cluster is not None else contextlib.nullcontext()


def _targets(order: Order, settings: Settings) -> AbstractContextManager[Targets]:
    cores = divide_cores(order.workers)
    return open_targets(order.also_compile, order.kernel.language, cache_dir=settings.binary_cache, cores=cores)


def _context(
    run: str,
    order: Order,
    settings: Settings,
    store: Store,
    pool: CompilePool,
    targets: Targets,
    emit: Emit,
    *,
    spent_before_s: float = 0.0,
    claims: bool,
    cluster: RayCluster | None,
) -> RunContext:
    """Complete before anything is on record: what cannot be run leaves no run behind."""
    began = time.perf_counter()

    def elapsed_s() -> float:
        return spent_before_s + time.perf_counter() - began

    info = pool.describe()
    desk = desk_of_run(run, store, order, emit, elapsed_s)
    # What a comparison says of an agent is that agent's.
    agent = None if order.agent == NO_AGENT else load_agent(order.agent, desk, alone=order.comparison is not None)
    kernel = order.kernel if agent is None else untouched(order.kernel)
    require_language(kernel, info)
    require_alike(order.device, info, order.more_devices)
    original = make_round(0, kernel, pool, info, targets)
    require_original(original.builder.targets, kernel)
    if agent is None and not original.space.parameters:
        emit(Warned("the kernel has no parameters, so there is nothing to search: `--agent rules` refactors it"))
    if agent is None:
        check_sources(order.strategy, original.space, order.warm)
    return RunContext(
        run=run,
        order=order,
        settings=settings,
        store=store,
        pool=pool,
        info=info,
        targets=targets,
        agent=agent,
        original=original,
        rng=np.random.default_rng([order.seed, len(store.evaluations(run))]),
        ledger=desk.ledger,
        makes_claims=claims and order.comparison is None,
        cluster=cluster,
        elapsed_s=elapsed_s,
        emit=emit,
        note=desk.note,
    )


def _header(context: RunContext) -> RunHeader:
    """Of a new run."""
    order, info = context.order, context.info
    return RunHeader(
        kernel=order.kernel.name,
        kernel_path=str(order.kernel.path.absolute()),
        fingerprint=kernel_fingerprint(order.kernel),
        device=order.device,
        agent=order.agent,
        strategy=order.strategy,
        seed=order.seed,
        settings=order.settings,
        device_info={
            "description": info.description,
            "architecture": info.architecture,
            "limits": asdict(info.limits),
            "versions": dict(info.versions),
            "also": {name: asdict(limits) for name, limits in context.targets.limits.items()},
        },
    )


def _inputs(context: RunContext, ready: Mapping[str, PreparedWorkload] | None, stack: ExitStack) -> Inputs:
    seed = next(iter(ready.values())).seed if ready else fresh_seed()
    context.store.add_input_seed(context.run, seed)
    context.emit(PreparationStarted("inputs, reference" if context.kernel.reference.file is not None else "inputs"))
    return Inputs(seed, ready or prepare_all(context.original.builder.binder, context.kernel.workloads, seed, stack))


# ── the stages ──


def _carried_out(
    context: RunContext, ready: Mapping[str, PreparedWorkload] | None, header: RunHeader | None = None
) -> RunResult | SearchedRun:
    """`header` is a new run's; a resumed one is on record."""
    shared = SharedStore(address) if (address := shared_store()) is not None else None  # wrong ones are told before the work
    with run_lock(context.folder):  # first: a run without one is taken for killed
        if header is not None:
            context.store.begin(header, context.order.warm, run=context.run)
        else:
            context.store.finish(context.run, Status.RUNNING)
        whole = _worked(context, ready)
    if context.makes_claims and shared is not None:
        publish(context, shared)
    context.emit(RunFinished(whole))
    return whole


def _worked(context: RunContext, ready: Mapping[str, PreparedWorkload] | None) -> RunResult | SearchedRun:
    """The stages, and what came of them on record."""
    began = time.perf_counter()
    run, store = context.run, context.store
    with _put_down(context, began):
        found = _stages(context, ready)
        status = Status.FINISHED if context.makes_claims else Status.SEARCHED
        record, seconds = store.find(run), time.perf_counter() - began
        state = run_state(replace(record, status=status, seconds=record.seconds + seconds), store)
        whole = RunResult(**state | found) if context.makes_claims else SearchedRun(**state | found)
        store.finish(run, status, whole.as_json() if context.makes_claims else None, seconds=seconds)
    return whole


@contextlib.contextmanager
def _put_down(context: RunContext, began: float) -> Iterator[None]:
    """A run that does not come to its end is on record as such, with why; who is told of it learns how it goes on."""
    alone = context.order.comparison is None
    database = context.settings.database

    def finish(status: Status, known: WarpsmithError | None = None) -> None:
        # A record that cannot take even this (a full disk) has no say in what is told: the run is then seen as killed.
        with contextlib.suppress(sqlite3.Error):
            error = known.as_dict() if known else None
            context.store.finish(context.run, status, error=error, seconds=time.perf_counter() - began)

    try:
        yield
    except (KeyboardInterrupt, BrokenPipeError) as cause:  # whoever read what it says has left
        finish(Status.INTERRUPTED)
        raise Stopped.by(cause, context.run if alone else None) from cause
    except BaseException as error:
        known = explained(error, database)
        finish(Status.FAILED, known or WarpsmithError(f"{type(error).__name__}: {error}"))
        if isinstance(known, UnavailableError) and alone:  # what may be there again later
            onwards = f"`warpsmith resume {context.run}` then continues it"
            hint = f"{known.hint}; {onwards}" if known.hint else onwards
            raise UnavailableError(known.message, location=known.location, hint=hint) from error
        raise


def _stages(context: RunContext, ready: Mapping[str, PreparedWorkload] | None) -> dict[str, Any]:
    """The fields of the result that the stages made."""
    order, known = context.order, len(context.store.evaluations(context.run))
    name, more = context.kernel.name, order.more_devices
    context.emit(RunStarted(context.run, name, context.info, order.agent, order.strategy, order.budget, known, more))
    announce(order.warm, name, context.emit)
    with ExitStack() as stack:
        inputs = _inputs(context, ready, stack)
        found = SearchStage(context, inputs).work()
        if not context.makes_claims:
            return {"agent_stopped": _stopped(context, found), "roof_us": found.roof_us}
        claims = claim(context, inputs, found.last, found.evaluations)
        compiled = context.targets.entries(found.last.builder.targets, claims)
    return {
        **claims.fields,
        **found.entries,
        "also_compile": compiled,
        "agent_stopped": _stopped(context, found),
        "model": context.ledger.spent,
        "knowledge": found.knowledge,
        "template": template_entry(found.last.template, found.certificate),
    }


def _stopped(context: RunContext, found: Searched) -> str | None:
    """Why the agent did not go on to the end, if so."""
    return found.gave_up or (context.agent.stopped if isinstance(context.agent, WithFallback) else None)
