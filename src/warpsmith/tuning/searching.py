"""The search stage of a run: the original's baseline and the tester's workloads, then rounds (or rewrites), on one bench."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from warpsmith.compile.pool import CompilePool
from warpsmith.core.outcome import Evaluation
from warpsmith.devices.base import DeviceInfo
from warpsmith.measure.bench import Bench, Candidate
from warpsmith.measure.roofline import make_roofline
from warpsmith.record.store import Store
from warpsmith.record.transcript import Kind, Message, Role
from warpsmith.settings import Settings
from warpsmith.spec.kernel import Kernel, Workload
from warpsmith.template import Certificate
from warpsmith.tuning.agent.adversaries import Adversaries
from warpsmith.tuning.agent.agenda import Agenda, Templating
from warpsmith.tuning.agent.odd_shapes import odd_shapes
from warpsmith.tuning.agent.planning import Agent, AgentStopped, Facts
from warpsmith.tuning.agent.prospects import passes_for
from warpsmith.tuning.builder import Builder
from warpsmith.tuning.comparison.templates import SharedTemplates
from warpsmith.tuning.cores import Cores, divide_cores
from warpsmith.tuning.direct import Direct
from warpsmith.tuning.evaluate import Evaluator
from warpsmith.tuning.events import AdversariesChosen, BaselineMeasured, Emit, TemplateCertified, Warned
from warpsmith.tuning.order import Mode, Order
from warpsmith.tuning.original import establish_original, require_measured
from warpsmith.tuning.profile import Profiler
from warpsmith.tuning.round import Round
from warpsmith.tuning.rounds import Rounds
from warpsmith.tuning.targets import Targets
from warpsmith.tuning.templates.certify import certify
from warpsmith.tuning.templates.probes import Lab
from warpsmith.tuning.templates.workbench import Workbench
from warpsmith.tuning.workshop import Workshop
from warpsmith.verify.prepared import PreparedWorkload

# A launch this many times slower than the original is as good as hanging; but a busy machine must not miss the deadline either.
_HOPELESS = 50
_SHORTEST_DEADLINE_S = 2.0


@dataclass(frozen=True, slots=True)
class Parts:
    """What a run has before it has a bench. `original` is round 0; without an agent its template is the one to be searched."""

    order: Order
    settings: Settings
    store: Store
    pool: CompilePool
    info: DeviceInfo
    targets: Targets
    emit: Emit
    note: Callable[[Message], None]
    agent: Agent | None
    original: Round

    @property
    def kernel(self) -> Kernel:
        return self.original.kernel


@dataclass(frozen=True, slots=True)
class Searched:
    """`entries` are the rounds, or the rewrites, of the run's result; `gave_up` says why the agent could not go on, if so."""

    certificate: Certificate
    last: Round
    evaluations: list[Evaluation]
    entries: list[dict[str, Any]]
    gave_up: str | None


class SearchStage:
    def __init__(
        self,
        parts: Parts,
        run: str,
        folder: Path,
        prepared: Mapping[str, PreparedWorkload],
        rng: np.random.Generator,
        elapsed_s: Callable[[], float],
    ) -> None:
        self._parts = parts
        self._run = run
        self._folder = folder
        self._prepared = prepared
        self._rng = rng
        self._elapsed_s = elapsed_s

    def work(self) -> Searched:
        parts = self._parts
        cores = divide_cores()
        roofline = make_roofline(parts.kernel, parts.pool, parts.info) if parts.agent is not None else None
        with ExitStack() as stack:
            tested = self._tested(stack)
            workloads = [*self._prepared.values(), *tested.ready.values(), *(roofline.prepared if roofline is not None else ())]
            bench = stack.enter_context(
                Bench(parts.order.device, workloads, compute_units=cores.measuring_units, cores=cores.measuring)
            )
            original = establish_original(parts.original.builder, bench, self._prepared)
            if parts.agent is None:
                certificate = self._certificate(parts.original.builder, bench, original)
            baseline = self._baseline(bench)
            adversaries = self._settled(tested, bench)
            ready = {**self._prepared, **tested.ready}
            searched = [ready[w.name] for w in (*parts.kernel.tuning_workloads, *adversaries)]
            more = self._more_benches(bench, searched, cores, stack)
            searching = self._searching(bench, more, baseline, adversaries)
            if roofline is not None:
                searching.roofline_us = roofline.measure(bench, self._rng)
            last, evaluations = searching.search()
            if parts.agent is not None:
                certificate = self._certificate(last.builder, bench, original)
        return Searched(certificate, last, evaluations, searching.entries, searching.gave_up)

    def _more_benches(
        self, first: Bench, workloads: Sequence[PreparedWorkload], cores: Cores, stack: ExitStack
    ) -> tuple[Bench, ...]:
        """One for each device that searches beside the first, with memory of its own."""
        benches: list[Bench] = []
        for device in self._parts.order.more_devices:
            twins = [stack.enter_context(workload.twin()) for workload in workloads]
            bench = Bench(
                device,
                twins,
                compute_units=cores.measuring_units,
                cores=cores.measuring,
                launch_deadline_s=first.launch_deadline_s,
            )
            benches.append(stack.enter_context(bench))
            bench.start()  # whether it can be had is known before anything is searched
        return tuple(benches)

    def _searching(
        self, bench: Bench, more: tuple[Bench, ...], baseline: Evaluation, adversaries: tuple[Workload, ...]
    ) -> Rounds | Direct:
        parts, order = self._parts, self._parts.order
        shop = Workshop(
            run=self._run,
            order=order,
            store=parts.store,
            pool=parts.pool,
            info=parts.info,
            targets=parts.targets,
            bench=bench,
            rng=self._rng,
            emit=parts.emit,
            elapsed_s=self._elapsed_s,
            folder=self._folder,
            note=parts.note,
            profiler=Profiler(order.device, list(self._prepared.values()), parts.emit),
            adversaries=adversaries,
            more_benches=more,
        )
        workbench = Workbench(parts.kernel, Lab(parts.pool, parts.info, bench, self._prepared, adversaries), parts.emit)
        if order.mode is Mode.DIRECT:
            assert parts.agent is not None, "an order without an agent has nobody to rewrite"
            return Direct(shop, parts.agent, parts.original, baseline, workbench.moves)
        templating: Templating = workbench
        # Under a time limit each run pays for its own templates.
        if order.comparison is not None and order.budget.seconds is None:
            templating = SharedTemplates(workbench, parts.settings.comparison_folder(order.comparison) / "templates")
        agenda = None
        if parts.agent is not None:
            agenda = Agenda(shop, parts.agent, templating, passes_for(parts.kernel, parts.info.limits))
        return Rounds(shop, agenda, parts.original, baseline)

    def _certificate(self, builder: Builder, bench: Bench, original: Candidate) -> Certificate:
        certificate = certify(builder, self._parts.pool, bench, original, self._prepared, self._rng)
        self._parts.emit(TemplateCertified(certificate.level, certificate.detail))
        return certificate

    def _tested(self, stack: ExitStack) -> Adversaries:
        """What is verified too: our own and what the tester wants; a resumed run has it on record."""
        parts = self._parts
        own: tuple[Workload, ...] = ()
        wanted = parts.store.adversaries(self._run)
        if not self._was_tested and parts.agent is not None:
            facts = Facts(parts.kernel, parts.info.limits, None, None, {}, device=parts.info.description)
            own = odd_shapes(parts.kernel)
            try:
                wanted = list(parts.agent.adversaries(facts))
            except AgentStopped as stopped:  # it may be back for the first plan
                parts.emit(Warned(f"no workloads from the tester: {stopped.reason}"))
        return Adversaries(own, wanted, parts.original.builder, parts.order.seed, stack)

    @property
    def _was_tested(self) -> bool:
        """Whether the tester was asked before, and had its say: all but the original comes after that."""
        store = self._parts.store
        return bool(store.adversaries(self._run)) or len(store.evaluations(self._run)) > 1 or bool(store.rounds(self._run))

    def _settled(self, tested: Adversaries, bench: Bench) -> tuple[Workload, ...]:
        parts = self._parts
        kept = tested.settle(bench)
        if parts.agent is not None and not self._was_tested:
            parts.store.add_adversaries(self._run, kept)
            parts.emit(AdversariesChosen(kept, tested.dropped))
            left_out = [f"{name} left out: {reason}" for name, reason in tested.dropped.items()]
            said = [f"also verified on {', '.join(w.name for w in kept) or 'nothing'}", *left_out]
            parts.note(Message(Role.TESTER, Kind.DECISION, "\n".join(said)))
        return kept

    def _baseline(self, bench: Bench) -> Evaluation:
        """The original as it is, measured once: the reference of every ratio that follows."""
        parts = self._parts
        default = parts.kernel.default_configuration
        known = next((e for e in parts.store.evaluations(self._run) if e.configuration == default), None)
        baseline = known or Evaluator(parts.original.space, parts.original.builder, bench, rng=self._rng)(default)
        measured = require_measured(parts.original.builder, baseline, bench, self._prepared)
        if known is None:
            parts.store.append(self._run, baseline, 0)  # of no round
        parts.emit(BaselineMeasured(measured))
        slowest_s = max(t.median_us for t in measured.times) / 1e6
        bench.launch_deadline_s = min(bench.launch_deadline_s, max(_SHORTEST_DEADLINE_S, _HOPELESS * slowest_s))
        return baseline
