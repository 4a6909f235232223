"""A run from kernel to result: oracle → baseline → rounds (or the kernel's own template) → finalists → claims → record."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
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
from warpsmith.refactor.registry import load_passes
from warpsmith.refactor.untouched import untouched
from warpsmith.search.registry import load_strategy
from warpsmith.settings import Settings
from warpsmith.template import Certificate
from warpsmith.tuning.agents import NO_AGENT, load_agent
from warpsmith.tuning.certify import certify
from warpsmith.tuning.claims import Claimant
from warpsmith.tuning.cores import divide_cores
from warpsmith.tuning.evaluate import Evaluator
from warpsmith.tuning.events import BaselineMeasured, Emit, RunFinished, RunStarted, TemplateCertified
from warpsmith.tuning.order import Order, kernel_fingerprint, order_of
from warpsmith.tuning.original import establish_original
from warpsmith.tuning.planning import Agent
from warpsmith.tuning.probes import Lab
from warpsmith.tuning.result import header_of, recorded_result, round_entries
from warpsmith.tuning.round import Round, make_round
from warpsmith.tuning.rounds import Rounds, Workshop
from warpsmith.tuning.templating import templatize
from warpsmith.tuning.warm import announce, check_sources
from warpsmith.verify.prepared import PreparedWorkload

# A launch this many times slower than the original is as good as hanging; but a busy machine must not miss the deadline either.
_HOPELESS = 50
_SHORTEST_DEADLINE_S = 2.0


def start(order: Order, settings: Settings, emit: Emit) -> dict[str, Any]:
    load_strategy(order.strategy)  # an unknown name is the user's mistake: say so before anything is measured
    agent = _agent(order)
    with Store(settings.database) as store, _pool(order, settings) as pool:
        info = pool.describe()
        header = RunHeader(
            kernel=order.kernel.name,
            kernel_path=str(order.kernel.path),
            fingerprint=kernel_fingerprint(order.kernel),
            device=order.device,
            agent=order.agent,
            strategy=order.strategy,
            seed=order.seed,
            settings={"evaluations": order.budget.evaluations, "seconds": order.budget.seconds, "rounds": order.rounds},
            device_info={"description": info.description, "limits": asdict(info.limits), "versions": dict(info.versions)},
        )
        return _Run(order, agent, settings, store, pool, info, emit).work(header)


def resume(name: str, settings: Settings, emit: Emit) -> dict[str, Any]:
    with Store(settings.database) as store:
        record = store.find(name)
        if record.status == "finished" and record.result is not None:
            return recorded_result(record.result)
        order = order_of(record, store)
        with _pool(order, settings) as pool:
            return _Run(order, _agent(order), settings, store, pool, pool.describe(), emit).work(record)


def _agent(order: Order) -> Agent | None:
    return None if order.agent == NO_AGENT else load_agent(order.agent)


def _pool(order: Order, settings: Settings) -> CompilePool:
    cores = divide_cores()
    return CompilePool(order.device, workers=cores.compilers, cache_dir=settings.binary_cache, cores=cores.compiling)


class _Run:
    """One run under way: the pieces that every stage needs."""

    def __init__(
        self, order: Order, agent: Agent | None, settings: Settings, store: Store, pool: CompilePool, info: DeviceInfo, emit: Emit
    ) -> None:
        self.order = order
        self.agent = agent
        self.settings = settings
        self.store = store
        self.pool = pool
        self.info = info
        self.emit = emit
        kernel = order.kernel if agent is None else untouched(order.kernel)
        if kernel.language not in info.languages:
            raise InputError(
                f"device {order.device!r} does not run {kernel.language} kernels, only {', '.join(sorted(info.languages))}",
                location=Location(kernel.path),
                hint="`warpsmith devices` lists what runs here",
            )
        self.kernel = kernel
        self.original = make_round(0, kernel, pool, info)
        if agent is None:
            check_sources(order.strategy, self.original.space, order.warm)

    def work(self, about: RunHeader | RunRecord) -> dict[str, Any]:
        began = time.perf_counter()
        run = about.run if isinstance(about, RunRecord) else self.store.begin(about, self.order.warm)
        # A killed run could not say how long it took: its evaluations can.
        spent_before = max(self.store.find(run).seconds, sum(e.seconds for e in self.store.evaluations(run)))
        folder = self.settings.run_folder(run)
        with run_lock(folder):
            self.store.finish(run, "running", None)
            status = "failed"
            try:
                result = self._stages(run, folder, lambda: spent_before + time.perf_counter() - began)
                status = "finished"
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
            prepared = {
                w.name: stack.enter_context(PreparedWorkload.prepare(self.kernel, w, order.seed, geometry(default, w)))
                for w in self.kernel.workloads
            }
            certificate, last, evaluations, rounds = self._search(run, folder, prepared, rng, elapsed_s)
            claimant = Claimant(last.builder, self.pool, self.info, prepared, device=order.device, rng=rng, emit=self.emit)
            result = claimant.claims(evaluations)
        return {
            **result,
            "rounds": max(1, len(rounds)),
            "plan": rounds,
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
        prepared: dict[str, PreparedWorkload],
        rng: np.random.Generator,
        elapsed_s: Callable[[], float],
    ) -> tuple[Certificate, Round, list[Evaluation], list[dict[str, Any]]]:
        cores = divide_cores()
        roofline = make_roofline(self.kernel, self.pool, self.info) if self.agent is not None else None
        workloads = [*prepared.values(), *(roofline.prepared if roofline is not None else ())]
        with Bench(self.order.device, workloads, compute_units=cores.measuring_units, cores=cores.measuring) as bench:
            original = establish_original(self.original.builder, bench, prepared)
            if self.agent is None:
                certificate = certify(self.original.builder, self.pool, bench, original, prepared, rng)
                self.emit(TemplateCertified(certificate.level, certificate.detail))
            baseline = self._baseline(run, bench, rng)
            shop = Workshop(run, self.order, self.store, self.pool, self.info, bench, rng, self.emit, elapsed_s, folder)

            lab = Lab(self.pool, self.info, bench, prepared)

            def make_template(passes: Sequence[str], into: Path) -> tuple[Path, Mapping[str, Any]]:
                # Every configuration is verified when it is evaluated: no need to try a sample beforehand.
                made = templatize(self.kernel, lab, passes=load_passes(passes), folder=into, combinations=0, emit=self.emit)
                applied = [a.name for a in made.applications if a.applied]
                declined = {a.name: a.reason for a in made.applications if a.reason is not None}
                return made.kernel.path, {"applied": applied, "declined": declined}

            rounds = Rounds(shop, self.agent, self.original, baseline, make_template)
            if roofline is not None:
                rounds.roofline_us = roofline.measure(bench, rng)
            last, evaluations = rounds.search()
            if self.agent is not None:
                certificate = certify(last.builder, self.pool, bench, original, prepared, rng)
                self.emit(TemplateCertified(certificate.level, certificate.detail))
        return certificate, last, evaluations, round_entries(rounds.plans, rounds.reports)

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
