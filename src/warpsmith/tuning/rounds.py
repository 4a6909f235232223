"""A run from kernel to result: oracle → certificate → baseline → search → finalists → claims → record."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np

from warpsmith.compile.binding import Binder
from warpsmith.compile.pool import CompilePool
from warpsmith.core.configuration import Configuration
from warpsmith.core.errors import BaselineError, InputError, Location
from warpsmith.core.hardware import Geometry
from warpsmith.core.outcome import Evaluation, Measured, Verdict
from warpsmith.devices.base import DeviceInfo
from warpsmith.measure.bench import Bench, Candidate
from warpsmith.record.store import RunHeader, RunRecord, Store, run_lock
from warpsmith.search.registry import load_strategy
from warpsmith.settings import Settings
from warpsmith.space import Space, space_of
from warpsmith.template import Certificate, Template, template_of
from warpsmith.tuning.certify import certify
from warpsmith.tuning.claims import Claimant
from warpsmith.tuning.cores import divide_cores
from warpsmith.tuning.evaluate import Builder, Evaluator
from warpsmith.tuning.events import BaselineMeasured, Emit, EvaluationFinished, RunFinished, RunStarted, TemplateCertified
from warpsmith.tuning.order import Order, kernel_fingerprint, order_of
from warpsmith.tuning.result import header_of, recorded_result
from warpsmith.tuning.search import search
from warpsmith.tuning.warm import announce, check_sources, warm_strategy
from warpsmith.verify.prepared import PreparedWorkload

# A launch this many times slower than the original is as good as hanging; but a busy machine must not miss the deadline either.
_HOPELESS = 50
_SHORTEST_DEADLINE_S = 2.0


def start(order: Order, settings: Settings, emit: Emit) -> dict[str, Any]:
    load_strategy(order.strategy)  # an unknown name is the user's mistake: say so before anything is measured
    with Store(settings.database) as store, _pool(order, settings) as pool:
        info = pool.describe()
        header = RunHeader(
            kernel=order.kernel.name,
            kernel_path=str(order.kernel.path),
            fingerprint=kernel_fingerprint(order.kernel),
            device=order.device,
            agent="none",
            strategy=order.strategy,
            seed=order.seed,
            settings={"evaluations": order.budget.evaluations, "seconds": order.budget.seconds},
            device_info={"description": info.description, "limits": asdict(info.limits), "versions": dict(info.versions)},
        )
        run = _Run(order, settings, store, pool, info, emit)
        return run.work(header)


def resume(name: str, settings: Settings, emit: Emit) -> dict[str, Any]:
    with Store(settings.database) as store:
        record = store.find(name)
        if record.status == "finished" and record.result is not None:
            return recorded_result(record.result)
        order = order_of(record, store)
        with _pool(order, settings) as pool:
            return _Run(order, settings, store, pool, pool.describe(), emit).work(record)


def _pool(order: Order, settings: Settings) -> CompilePool:
    cores = divide_cores()
    return CompilePool(order.device, workers=cores.compilers, cache_dir=settings.binary_cache, cores=cores.compiling)


class _Run:
    """One run under way: the pieces that every stage needs."""

    def __init__(self, order: Order, settings: Settings, store: Store, pool: CompilePool, info: DeviceInfo, emit: Emit) -> None:
        self.order = order
        self.settings = settings
        self.store = store
        self.pool = pool
        self.info = info
        self.emit = emit
        kernel = order.kernel
        if kernel.language not in info.languages:
            raise InputError(
                f"device {order.device!r} does not run {kernel.language} kernels, only {', '.join(sorted(info.languages))}",
                location=Location(kernel.path),
                hint="`warpsmith devices` lists what runs here",
            )
        self.template: Template = template_of(kernel)
        self.space: Space = space_of(kernel, self.template, info.limits)
        check_sources(order.strategy, self.space, order.warm)
        self.builder = Builder(Binder(kernel, info.limits), self.template, pool)
        self.workloads = {w.name: w for w in kernel.workloads}

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
                result = self._stages(run, lambda: spent_before + time.perf_counter() - began)
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

    def _stages(self, run: str, elapsed_s: Callable[[], float]) -> dict[str, Any]:
        kernel = self.order.kernel
        recorded = {e.configuration: e for e in self.store.evaluations(run)}
        self.emit(
            RunStarted(
                run,
                kernel.name,
                self.info,
                self.order.strategy,
                self.order.budget,
                self.space.size,
                self.space.cartesian_size,
                len(recorded),
            )
        )
        announce(self.order.warm, kernel.name, self.emit)
        rng = np.random.default_rng([self.order.seed, len(recorded)])  # only orders launches; the strategy has its own
        with contextlib.ExitStack() as stack:
            prepared = {
                w.name: stack.enter_context(PreparedWorkload.prepare(kernel, w, self.order.seed, self._default_geometry(w.name)))
                for w in kernel.workloads
            }
            certificate, evaluations = self._search(run, prepared, recorded, rng, elapsed_s)
            claimant = Claimant(self.builder, self.pool, self.info, prepared, device=self.order.device, rng=rng, emit=self.emit)
            result = claimant.claims(evaluations)
        return {
            **result,
            "template": {
                "path": str(self.template.path),
                "parameters": {p.name: {"values": list(p.values), "default": p.default} for p in self.template.parameters},
                "certificate": asdict(certificate),
            },
        }

    def _default_geometry(self, workload: str) -> Geometry:
        return self.builder.binder.geometry(self.order.kernel.default_configuration, self.workloads[workload])

    def _search(
        self,
        run: str,
        prepared: dict[str, PreparedWorkload],
        recorded: dict[Configuration, Evaluation],
        rng: np.random.Generator,
        elapsed_s: Callable[[], float],
    ) -> tuple[Certificate, list[Evaluation]]:
        kernel = self.order.kernel
        cores = divide_cores()
        with Bench(
            self.order.device, list(prepared.values()), compute_units=cores.measuring_units, cores=cores.measuring
        ) as bench:
            original = self._original(bench, prepared)
            certificate = certify(self.builder, self.pool, bench, original, prepared, rng)
            self.emit(TemplateCertified(certificate.level, certificate.detail))
            evaluator = Evaluator(self.space, self.builder, bench, rng=rng)
            baseline = recorded.get(kernel.default_configuration) or evaluator(kernel.default_configuration)
            if not isinstance(baseline.outcome, Measured):
                raise BaselineError(
                    f"the original kernel does not pass: {baseline.outcome.reason}",
                    location=Location(kernel.source),
                    hint="the original is the reference of every speedup, so it must run and agree with the oracle first",
                )
            if kernel.default_configuration not in recorded:
                self.store.append(run, baseline)
                recorded[kernel.default_configuration] = baseline
            evaluator.observe(baseline)
            self.emit(BaselineMeasured(baseline.outcome))
            slowest_s = max(t.median_us for t in baseline.outcome.times) / 1e6
            bench.launch_deadline_s = min(bench.launch_deadline_s, max(_SHORTEST_DEADLINE_S, _HOPELESS * slowest_s))
            best = baseline

            def report(number: int, evaluation: Evaluation, from_record: bool) -> None:
                nonlocal best
                if evaluation.score is not None and best.score is not None and evaluation.score < best.score:
                    best = evaluation
                left = self.order.budget.seconds_left(number, elapsed_s())
                self.emit(EvaluationFinished(number, evaluation, best, elapsed_s(), left, from_record))

            # From the store also when it was just put there: a resumed run then learns from exactly the same.
            sources = self.store.sources(run)
            strategy = warm_strategy(self.order.strategy, self.space, self.order.seed, sources)
            evaluations = search(
                strategy,
                evaluator,
                budget=self.order.budget,
                recorded=recorded,
                record=lambda evaluation: self.store.append(run, evaluation),
                report=report,
                elapsed_s=elapsed_s,
                first=baseline if sources else None,  # a cold strategy asks for it; one that knows better places need not
            )
        # Told from the record or not, the baseline takes part in the final.
        return certificate, list({e.configuration: e for e in (baseline, *evaluations)}.values())

    def _original(self, bench: Bench, prepared: dict[str, PreparedWorkload]) -> Candidate:
        """Build the original and, where there is no reference, let it set the expected outputs (after it repeated itself)."""
        kernel = self.order.kernel
        original = self.builder.build(kernel.default_configuration, kernel.workloads)
        if not isinstance(original, Candidate):
            raise InputError(f"the original kernel does not compile: {original.reason}", location=Location(kernel.source))
        for name, workload in prepared.items():
            if workload.expected is not None:
                continue
            first = bench.run_once(original, name)
            if not isinstance(first, int):
                raise BaselineError(
                    f"the original kernel fails on workload {name!r}: {first.reason}", location=Location(kernel.source)
                )
            workload.adopt_outputs_as_expected()
            again = bench.verify(original, name)
            if not isinstance(again, Verdict) or not again.passed:
                raise BaselineError(
                    f"the original kernel does not repeat its own outputs on workload {name!r}, so it cannot be the oracle",
                    location=Location(kernel.source),
                    hint="give a NumPy reference in [reference]",
                )
        return original
