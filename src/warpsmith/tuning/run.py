"""A run from kernel to result: prepare → search (`tuning.searching`) → finalists and claims → record."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from warpsmith.compile.pool import CompilePool
from warpsmith.core.configuration import Configuration
from warpsmith.core.errors import Stopped, UnavailableError, WarpsmithError
from warpsmith.devices.base import DeviceInfo
from warpsmith.record.faults import explained
from warpsmith.record.lock import run_lock
from warpsmith.record.run import NO_AGENT, RunHeader, RunRecord, Status, new_run_name
from warpsmith.record.store import Store
from warpsmith.refactor.untouched import untouched
from warpsmith.search.registry import load_strategy
from warpsmith.settings import Settings, are_races_checked, claim_processes
from warpsmith.tuning.agent.agents import load_agent
from warpsmith.tuning.agent.relief import Relieved
from warpsmith.tuning.agent.secretary import Secretary
from warpsmith.tuning.alike import require_alike
from warpsmith.tuning.claims.elsewhere import on_odd_shapes
from warpsmith.tuning.claims.stages import Claimant
from warpsmith.tuning.cores import divide_cores
from warpsmith.tuning.events import (
    Emit,
    RunFinished,
    RunStarted,
)
from warpsmith.tuning.order import Mode, Order, kernel_fingerprint, order_of
from warpsmith.tuning.result import header_of, recorded_result, spent_s
from warpsmith.tuning.round import Round, make_round
from warpsmith.tuning.searching import Parts, SearchStage
from warpsmith.tuning.targets import Targets, open_targets, require_original
from warpsmith.tuning.templates.probes import require_language
from warpsmith.tuning.warm import announce, check_sources
from warpsmith.verify.prepared import PreparedWorkload, prepare_all


def start(order: Order, settings: Settings, emit: Emit, ready: Mapping[str, PreparedWorkload] | None = None) -> dict[str, Any]:
    """`ready` are the kernel's workloads, prepared already: runs that follow each other in one process may share them."""
    load_strategy(order.strategy)  # what is the user's mistake is said before anything is measured
    claim_processes()
    are_races_checked()
    with Store(settings.database) as store, _pool(order, settings) as pool, _targets(order, settings) as targets:
        info = pool.describe()
        header = RunHeader(
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
                "also": {name: asdict(limits) for name, limits in targets.limits.items()},
            },
        )
        return _Run(order, settings, store, pool, info, targets, emit, ready).work(header)


def resume(name: str, settings: Settings, emit: Emit, ready: Mapping[str, PreparedWorkload] | None = None) -> dict[str, Any]:
    with Store(settings.database) as store:
        record = store.find(name)
        if record.status is Status.FINISHED and record.result is not None:
            return recorded_result(record.result)
        order = order_of(record, store)
        with _pool(order, settings) as pool, _targets(order, settings) as targets:
            return _Run(order, settings, store, pool, pool.describe(), targets, emit, ready).work(record)


def _pool(order: Order, settings: Settings) -> CompilePool:
    cores = divide_cores(order.workers)
    return CompilePool(
        order.device,
        workers=cores.compilers,
        cache_dir=settings.binary_cache,
        cores=cores.compiling,
        folders=order.kernel.folders,
    )


def _targets(order: Order, settings: Settings) -> AbstractContextManager[Targets]:
    cores = divide_cores(order.workers)
    return open_targets(order.also_compile, order.kernel.language, cache_dir=settings.binary_cache, cores=cores)


class _Run:
    """One run under way: the pieces that every stage needs."""

    def __init__(
        self,
        order: Order,
        settings: Settings,
        store: Store,
        pool: CompilePool,
        info: DeviceInfo,
        targets: Targets,
        emit: Emit,
        ready: Mapping[str, PreparedWorkload] | None = None,
    ) -> None:
        self.ready = ready
        self.order = order
        self.settings = settings
        self.store = store
        self.info = info
        self.emit = emit
        self.secretary = Secretary(store, order, emit)
        # What a comparison says of an agent is that agent's.
        alone = order.comparison is not None
        agent = None if order.agent == NO_AGENT else load_agent(order.agent, self.secretary.desk, alone=alone)
        kernel = order.kernel if agent is None else untouched(order.kernel)
        require_language(kernel, info)
        self.kernel = kernel
        require_alike(order.device, info, order.more_devices)
        original = make_round(0, kernel, pool, info, targets)
        require_original(original.builder.targets, kernel)
        if agent is None:
            check_sources(order.strategy, original.space, order.warm)
        self.parts = Parts(order, settings, store, pool, info, targets, emit, self.secretary.desk.note, agent, original)

    def work(self, about: RunHeader | RunRecord) -> dict[str, Any]:
        began = time.perf_counter()
        run = about.run if isinstance(about, RunRecord) else new_run_name(about.kernel)
        with run_lock(self.settings.run_folder(run)):  # first: a run without one is taken for killed
            if isinstance(about, RunHeader):
                self.store.begin(about, self.order.warm, run=run)
            else:
                self.store.finish(run, Status.RUNNING)
            try:
                whole = self._worked(run, began)
            except (KeyboardInterrupt, BrokenPipeError) as cause:  # whoever read what it says has left
                self._put_down(run, Status.INTERRUPTED, began)
                raise Stopped.by(cause, run if self.order.comparison is None else None) from cause
            except BaseException as error:
                self._put_down(run, Status.FAILED, began, error)
                known = explained(error, self.settings.database)
                if isinstance(known, UnavailableError) and self.order.comparison is None:  # what may be there again later
                    onwards = f"`warpsmith resume {run}` then goes on with it"
                    hint = f"{known.hint}; {onwards}" if known.hint else onwards
                    raise UnavailableError(known.message, location=known.location, hint=hint) from error
                raise
        self.emit(RunFinished(whole))
        return whole

    def _worked(self, run: str, began: float) -> dict[str, Any]:
        spent_before = spent_s(self.store.find(run), self.store.evaluations(run))

        def elapsed_s() -> float:
            return spent_before + time.perf_counter() - began

        self.secretary.begin(run, elapsed_s)
        result = self._stages(run, self.settings.run_folder(run), elapsed_s)
        status = Status.FINISHED if self.order.comparison is None else Status.SEARCHED
        record, seconds = self.store.find(run), time.perf_counter() - began
        timed = replace(record, status=status, seconds=record.seconds + seconds)
        header = header_of(timed, self.store.outcome_counts(run), self.store.source_summaries(run))
        whole = {**header, **result, "stored_in": str(self.settings.database)}
        self.store.finish(run, status, whole if status is Status.FINISHED else None, seconds=seconds)
        return whole

    def _put_down(self, run: str, status: Status, began: float, error: BaseException | None = None) -> None:
        """A record that cannot take even this (a full disk) has no say in what is told: the run is then seen as killed."""
        known = explained(error, self.settings.database) if error is not None else None
        if error is not None and known is None:
            known = WarpsmithError(f"{type(error).__name__}: {error}")
        with contextlib.suppress(sqlite3.Error):
            self.store.finish(run, status, error=known.as_dict() if known else None, seconds=time.perf_counter() - began)

    def _stages(self, run: str, folder: Path, elapsed_s: Callable[[], float]) -> dict[str, Any]:
        recorded = self.store.evaluations(run)
        order = self.order
        self.emit(
            RunStarted(
                run, self.kernel.name, self.info, order.agent, order.strategy, order.budget, len(recorded), order.more_devices
            )
        )
        announce(order.warm, self.kernel.name, self.emit)
        rng = np.random.default_rng([order.seed, len(recorded)])  # only orders launches; the strategy has its own
        binder = self.parts.original.builder.binder
        with contextlib.ExitStack() as stack:
            prepared = self.ready or prepare_all(binder, self.kernel.workloads, order.seed, stack)
            found = SearchStage(self.parts, run, folder, prepared, rng, elapsed_s).work()
            agent = self.parts.agent
            stopped = found.gave_up or (agent.stopped if isinstance(agent, Relieved) else None)
            if order.comparison is not None:
                return {"agent_stopped": stopped}  # claims are measured for all of the comparison's runs together
            builder = found.last.builder
            claimant = Claimant(builder, self.parts.pool, self.info, prepared, device=order.device, rng=rng, emit=self.emit)
            result = claimant.claims(found.evaluations)
            result["evidence"]["odd_shapes"] = self._on_odd_shapes(found.last, result)
            compiled = self.parts.targets.entries(builder.targets, result)
        entries, template = found.entries, found.last.template
        return {
            **result,
            "also_compile": compiled,
            "agent_stopped": stopped,
            "model": self.secretary.spent,
            **({"rewrites": entries} if order.mode is Mode.DIRECT else {"rounds": max(1, len(entries)), "plan": entries}),
            "template": {
                "path": str(template.path.absolute()),  # a run is shown from anywhere
                "parameters": {p.name: {"values": list(p.values), "default": p.default} for p in template.parameters},
                "certificate": asdict(found.certificate),
            },
        }

    def _on_odd_shapes(self, searched: Round, result: Mapping[str, Any]) -> list[dict[str, Any]] | None:
        """None where it was not asked: what an agent makes was verified on such shapes when it was evaluated."""
        found = Configuration.of((result["uncertain"] or result["general"])["config"])  # what an export would ship
        if self.parts.agent is not None or found == self.kernel.default_configuration:
            return None
        return on_odd_shapes(searched, found, device=self.order.device, seed=self.order.seed)
