"""A run from kernel to result: oracle → baseline → rounds (or the kernel's own template) → finalists → claims → record."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from warpsmith.compile.pool import CompilePool
from warpsmith.core.errors import BaselineError, InputError, Location
from warpsmith.core.outcome import Evaluation, Measured
from warpsmith.devices.base import DeviceInfo
from warpsmith.measure.bench import Bench
from warpsmith.measure.roofline import make_roofline
from warpsmith.record.store import RunHeader, RunRecord, Store, run_lock
from warpsmith.record.transcript import Kind, Message, Role
from warpsmith.refactor.untouched import untouched
from warpsmith.search.registry import load_strategy
from warpsmith.settings import Settings
from warpsmith.spec.kernel import Workload
from warpsmith.template import Certificate
from warpsmith.tuning.adversaries import Adversaries
from warpsmith.tuning.agenda import Agenda, Templating
from warpsmith.tuning.agents import NO_AGENT, load_agent
from warpsmith.tuning.certify import certify
from warpsmith.tuning.claims import Claimant
from warpsmith.tuning.comparison.templates import SharedTemplates
from warpsmith.tuning.cores import divide_cores
from warpsmith.tuning.direct import Direct
from warpsmith.tuning.evaluate import Evaluator
from warpsmith.tuning.events import (
    AdversariesChosen,
    BaselineMeasured,
    Emit,
    RunFinished,
    RunStarted,
    TemplateCertified,
    Warned,
)
from warpsmith.tuning.order import Mode, Order, kernel_fingerprint, order_of
from warpsmith.tuning.original import establish_original
from warpsmith.tuning.planning import AgentStopped, Facts
from warpsmith.tuning.probes import Lab
from warpsmith.tuning.prospects import passes_for
from warpsmith.tuning.result import header_of, recorded_result
from warpsmith.tuning.round import Round, make_round
from warpsmith.tuning.rounds import Rounds
from warpsmith.tuning.secretary import Secretary
from warpsmith.tuning.targets import Targets, open_targets, require_original
from warpsmith.tuning.warm import announce, check_sources
from warpsmith.tuning.workbench import Workbench
from warpsmith.tuning.workshop import Workshop
from warpsmith.verify.prepared import PreparedWorkload

# A launch this many times slower than the original is as good as hanging; but a busy machine must not miss the deadline either.
_HOPELESS = 50
_SHORTEST_DEADLINE_S = 2.0


def start(order: Order, settings: Settings, emit: Emit, ready: Mapping[str, PreparedWorkload] | None = None) -> dict[str, Any]:
    """`ready` are the kernel's workloads, prepared already: runs that follow each other in one process may share them."""
    load_strategy(order.strategy)  # an unknown name is the user's mistake: say so before anything is measured
    with Store(settings.database) as store, _pool(order, settings) as pool, _targets(order, settings) as targets:
        info = pool.describe()
        header = RunHeader(
            kernel=order.kernel.name,
            kernel_path=str(order.kernel.path),
            fingerprint=kernel_fingerprint(order.kernel),
            device=order.device,
            agent=order.agent,
            strategy=order.strategy,
            seed=order.seed,
            settings=order.settings,
            device_info={"description": info.description, "limits": asdict(info.limits), "versions": dict(info.versions)},
        )
        return _Run(order, settings, store, pool, info, targets, emit, ready).work(header)


def resume(name: str, settings: Settings, emit: Emit, ready: Mapping[str, PreparedWorkload] | None = None) -> dict[str, Any]:
    with Store(settings.database) as store:
        record = store.find(name)
        if record.status == "finished" and record.result is not None:
            return recorded_result(record.result)
        order = order_of(record, store)
        with _pool(order, settings) as pool, _targets(order, settings) as targets:
            return _Run(order, settings, store, pool, pool.describe(), targets, emit, ready).work(record)


def _pool(order: Order, settings: Settings) -> CompilePool:
    cores = divide_cores()
    return CompilePool(
        order.device,
        workers=cores.compilers,
        cache_dir=settings.binary_cache,
        cores=cores.compiling,
        folders=order.kernel.folders,
    )


def _targets(order: Order, settings: Settings) -> AbstractContextManager[Targets]:
    return open_targets(order.also_compile, order.kernel.language, cache_dir=settings.binary_cache, cores=divide_cores())


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
        self.pool = pool
        self.info = info
        self.targets = targets
        self.emit = emit
        self.secretary = Secretary(store, order, emit)
        self.agent = None if order.agent == NO_AGENT else load_agent(order.agent, self.secretary.desk)
        kernel = order.kernel if self.agent is None else untouched(order.kernel)
        if kernel.language not in info.languages:
            raise InputError(
                f"device {order.device!r} does not run {kernel.language} kernels, only {', '.join(sorted(info.languages))}",
                location=Location(kernel.path),
                hint="`warpsmith devices` lists what runs here",
            )
        self.kernel = kernel
        self.original = make_round(0, kernel, pool, info, targets)
        require_original(self.original.builder.targets, kernel)
        if self.agent is None:
            check_sources(order.strategy, self.original.space, order.warm)

    def work(self, about: RunHeader | RunRecord) -> dict[str, Any]:
        began = time.perf_counter()
        run = about.run if isinstance(about, RunRecord) else self.store.begin(about, self.order.warm)
        # A killed run could not say how long it took: its evaluations can.
        spent_before = max(self.store.find(run).seconds, sum(e.seconds for e in self.store.evaluations(run)))

        def elapsed_s() -> float:
            return spent_before + time.perf_counter() - began

        self.secretary.begin(run, elapsed_s)
        folder = self.settings.run_folder(run)
        with run_lock(folder):
            self.store.finish(run, "running", None)
            status = "failed"
            try:
                result = self._stages(run, folder, elapsed_s)
                status = "finished" if self.order.comparison is None else "searched"
            except KeyboardInterrupt:
                status = "interrupted"
                raise
            finally:
                self.store.add_seconds(run, time.perf_counter() - began)
                if status != "finished":
                    self.store.finish(run, status, None)
            # Status and result are written at once: a run is never marked finished without its result.
            header = header_of(self.store.find(run), self.store.outcome_counts(run), self.store.source_summaries(run))
            whole = {**header, "status": status, **result, "stored_in": str(self.settings.database)}
            if status == "finished":
                self.store.finish(run, status, whole)
        self.emit(RunFinished(whole))
        return whole

    def _stages(self, run: str, folder: Path, elapsed_s: Callable[[], float]) -> dict[str, Any]:
        recorded = self.store.evaluations(run)
        order = self.order
        self.emit(RunStarted(run, self.kernel.name, self.info, order.agent, order.strategy, order.budget, len(recorded)))
        announce(order.warm, self.kernel.name, self.emit)
        rng = np.random.default_rng([order.seed, len(recorded)])  # only orders launches; the strategy has its own
        geometry, default = self.original.builder.binder.geometry, self.kernel.default_configuration
        with contextlib.ExitStack() as stack:
            prepared = self.ready or {
                w.name: stack.enter_context(PreparedWorkload.prepare(self.kernel, w, order.seed, geometry(default, w)))
                for w in self.kernel.workloads
            }
            certificate, last, evaluations, searched = self._search(run, folder, prepared, rng, elapsed_s)
            if order.comparison is not None:
                return {}  # claims are measured for all of the comparison's runs together
            claimant = Claimant(last.builder, self.pool, self.info, prepared, device=order.device, rng=rng, emit=self.emit)
            result = claimant.claims(evaluations)
            compiled = self.targets.entries(last.builder.targets, result)
        entries = searched.entries
        return {
            **result,
            "also_compile": compiled,
            "agent_stopped": searched.gave_up,
            "model": self.secretary.spent,
            **({"rewrites": entries} if order.mode is Mode.DIRECT else {"rounds": max(1, len(entries)), "plan": entries}),
            "template": {
                "path": str(last.template.path),
                "parameters": {p.name: {"values": list(p.values), "default": p.default} for p in last.template.parameters},
                "certificate": asdict(certificate),
            },
        }

    def _search(
        self,
        run: str,
        folder: Path,
        prepared: Mapping[str, PreparedWorkload],
        rng: np.random.Generator,
        elapsed_s: Callable[[], float],
    ) -> tuple[Certificate, Round, list[Evaluation], Rounds | Direct]:
        cores = divide_cores()
        roofline = make_roofline(self.kernel, self.pool, self.info) if self.agent is not None else None
        with contextlib.ExitStack() as stack:
            tested = self._tested(run, stack)
            workloads = [*prepared.values(), *tested.ready.values(), *(roofline.prepared if roofline is not None else ())]
            bench = stack.enter_context(
                Bench(self.order.device, workloads, compute_units=cores.measuring_units, cores=cores.measuring)
            )
            original = establish_original(self.original.builder, bench, prepared)
            if self.agent is None:
                certificate = certify(self.original.builder, self.pool, bench, original, prepared, rng)
                self.emit(TemplateCertified(certificate.level, certificate.detail))
            baseline = self._baseline(run, bench, rng)
            adversaries = self._settled(run, tested, bench)
            shop = Workshop(
                run=run,
                order=self.order,
                store=self.store,
                pool=self.pool,
                info=self.info,
                targets=self.targets,
                bench=bench,
                rng=rng,
                emit=self.emit,
                elapsed_s=elapsed_s,
                folder=folder,
                note=self.secretary.desk.note,
                adversaries=adversaries,
            )
            workbench = Workbench(self.kernel, Lab(self.pool, self.info, bench, prepared, adversaries), self.emit)
            searching = self._searching(shop, baseline, workbench)
            if roofline is not None:
                searching.roofline_us = roofline.measure(bench, rng)
            last, evaluations = searching.search()
            if self.agent is not None:
                certificate = certify(last.builder, self.pool, bench, original, prepared, rng)
                self.emit(TemplateCertified(certificate.level, certificate.detail))
        return certificate, last, evaluations, searching

    def _searching(self, shop: Workshop, baseline: Evaluation, workbench: Workbench) -> Rounds | Direct:
        if self.order.mode is Mode.DIRECT:
            assert self.agent is not None, "an order without an agent has nobody to rewrite"
            return Direct(shop, self.agent, self.original, baseline, workbench.moves)
        templating: Templating = workbench
        # Under a time limit each run pays for its own templates.
        if self.order.comparison is not None and self.order.budget.seconds is None:
            templating = SharedTemplates(workbench, self.settings.comparison_folder(self.order.comparison) / "templates")
        agenda = None
        if self.agent is not None:
            agenda = Agenda(shop, self.agent, templating, passes_for(self.kernel, self.info.limits))
        return Rounds(shop, agenda, self.original, baseline)

    def _tested(self, run: str, stack: contextlib.ExitStack) -> Adversaries:
        """What the tester wants verified too; a resumed run has it on record."""
        wanted = self.store.adversaries(run)
        if not wanted and self.agent is not None:
            try:
                wanted = list(
                    self.agent.adversaries(Facts(self.kernel, self.info.limits, None, None, {}, device=self.info.description))
                )
            except AgentStopped as stopped:  # it may be back for the first plan
                self.emit(Warned(f"no workloads from the tester: {stopped.reason}"))
        return Adversaries(wanted, self.original.builder, self.order.seed, stack)

    def _settled(self, run: str, tested: Adversaries, bench: Bench) -> tuple[Workload, ...]:
        kept = tested.settle(bench)
        if self.agent is not None and not self.store.adversaries(run):
            self.store.add_adversaries(run, kept)
            self.emit(AdversariesChosen(kept, tested.dropped))
            left_out = [f"{name} left out: {reason}" for name, reason in tested.dropped.items()]
            said = [f"also verified on {', '.join(w.name for w in kept) or 'nothing'}", *left_out]
            self.secretary.desk.note(Message(Role.TESTER, Kind.DECISION, "\n".join(said)))
        return kept

    def _baseline(self, run: str, bench: Bench, rng: np.random.Generator) -> Evaluation:
        """The original as it is, measured once: the reference of every ratio that follows."""
        default = self.kernel.default_configuration
        known = next((e for e in self.store.evaluations(run) if e.configuration == default), None)
        baseline = known or Evaluator(self.original.space, self.original.builder, bench, rng=rng)(default)
        if not isinstance(baseline.outcome, Measured):
            raise BaselineError(
                f"the original kernel does not pass: {baseline.outcome.reason}",
                location=Location(self.kernel.source),
                hint="the original is the reference of every speedup, so it must run and agree with the oracle first",
            )
        if known is None:
            self.store.append(run, baseline, 0)  # of no round
        self.emit(BaselineMeasured(baseline.outcome))
        slowest_s = max(t.median_us for t in baseline.outcome.times) / 1e6
        bench.launch_deadline_s = min(bench.launch_deadline_s, max(_SHORTEST_DEADLINE_S, _HOPELESS * slowest_s))
        return baseline
