"""The search stage of a run: the original's baseline and the tester's workloads, then rounds (or rewrites), on one bench."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np

from warpsmith.core.outcome import Crashed, Evaluation, LaunchFailed
from warpsmith.measure.bench import Bench, Candidate
from warpsmith.measure.policy import HOPELESS_TIMES, SHORTEST_DEADLINE_S, TURNS
from warpsmith.measure.roofline import make_roofline
from warpsmith.record.result import KnowledgeEntry
from warpsmith.record.transcript import Kind, Message, Role
from warpsmith.spec.kernel import Workload
from warpsmith.template import Certificate
from warpsmith.tuning.agent.facts import Roofs
from warpsmith.tuning.agent.planning import AgentStopped, Facts
from warpsmith.tuning.agent.prospects import passes_for
from warpsmith.tuning.context import Inputs, RunContext
from warpsmith.tuning.evaluation.adversaries import Adversaries
from warpsmith.tuning.evaluation.builder import Builder
from warpsmith.tuning.evaluation.evaluate import Evaluator
from warpsmith.tuning.evaluation.odd_shapes import odd_shapes
from warpsmith.tuning.evaluation.original import establish_original, require_measured
from warpsmith.tuning.evaluation.profile import Profiler
from warpsmith.tuning.evaluation.round import Round
from warpsmith.tuning.events import AdversariesChosen, BaselineMeasured, PreparationStarted, TemplateCertified, Warned
from warpsmith.tuning.order import Mode
from warpsmith.tuning.rounds.agenda import Agenda
from warpsmith.tuning.rounds.benches import Benches, open_bench, open_more, open_seats
from warpsmith.tuning.rounds.direct import Direct
from warpsmith.tuning.rounds.knowledge import entries
from warpsmith.tuning.rounds.rounds import Rounds
from warpsmith.tuning.rounds.trials import Trials
from warpsmith.tuning.templates.certify import certify
from warpsmith.tuning.templates.probes import Lab
from warpsmith.tuning.templates.shared import SharedTemplates
from warpsmith.tuning.templates.workbench import Templating, Workbench


@dataclass(frozen=True, slots=True)
class Searched:
    """`entries` are the rounds, or the rewrites; `gave_up` says why the agent could not go on, if so."""

    certificate: Certificate
    last: Round
    evaluations: list[Evaluation]
    entries: Mapping[str, Any]  # fields of the run's result
    gave_up: str | None
    roof_us: Mapping[str, float]
    knowledge: tuple[KnowledgeEntry, ...]  # what the agent was told of earlier runs


class SearchStage:
    def __init__(self, context: RunContext, inputs: Inputs) -> None:
        self._context = context
        self._inputs = inputs

    def work(self) -> Searched:
        context, prepared = self._context, self._inputs.prepared
        if context.needs_roof_early:
            context.emit(PreparationStarted("roofline probes compiled"))
        roofline = make_roofline(context.kernel, context.pool, context.info) if context.needs_roof_early else None
        with ExitStack() as stack:
            tested = self._tested(stack)
            probes = roofline.prepared if roofline is not None else ()
            bench = open_bench(context, [*prepared.values(), *tested.ready.values(), *probes], stack)
            context.emit(PreparationStarted("original compiled and verified"))
            original = establish_original(context.original.builder, bench, prepared)
            if context.agent is None:
                certificate = self._certificate(context.original.builder, bench, original)
            context.emit(PreparationStarted("original timed"))
            baseline = self._baseline(bench)
            if context.agent is not None:
                context.emit(PreparationStarted("odd shapes"))
            adversaries = self._settled(tested, bench)
            ready = {**prepared, **tested.ready}
            searched = [ready[w.name] for w in (*context.kernel.tuning_workloads, *adversaries)]
            more = open_more(context, bench, searched, stack)
            seats = open_seats(context, bench, original, searched, stack)
            profiler = Profiler(context.order.device, list(prepared.values()), context.emit)
            searching = self._searching(Benches(bench, profiler, more, adversaries, seats), baseline)
            if roofline is not None:
                context.emit(PreparationStarted("roofline measured"))
                probed = roofline.probed(bench, context.rng)
                searching.roofs = Roofs(roofline.roof_us(probed), roofline.bounds(probed))
            last, evaluations = searching.search()
            if context.agent is not None:
                certificate = self._certificate(last.builder, bench, original)
        told = entries(searching.told)
        return Searched(certificate, last, evaluations, searching.entries, searching.gave_up, searching.roofs.us, told)

    def _searching(self, benches: Benches, baseline: Evaluation) -> Rounds | Direct:
        context, order = self._context, self._context.order
        lab = Lab(context.pool, context.info, benches.first, self._inputs.prepared, benches.adversaries)
        workbench = Workbench(context.kernel, lab, context.emit, order.proved_only)
        if order.mode is Mode.DIRECT:
            assert context.agent is not None, "an order without an agent cannot rewrite"
            return Direct(context, benches, context.agent, baseline, workbench.moves)
        templating: Templating = workbench
        # Under a time limit each run pays for its own templates.
        if order.comparison is not None and order.budget.seconds is None:
            templating = SharedTemplates(workbench, context.settings.comparison_folder(order.comparison) / "templates")
        agenda = None
        if context.agent is not None:
            trials = Trials(context, workbench, context.agent.name)
            agenda = Agenda(context, context.agent, templating, passes_for(context.kernel, context.info.limits), trials)
        return Rounds(context, benches, agenda, baseline)

    def _certificate(self, builder: Builder, bench: Bench, original: Candidate) -> Certificate:
        if self._context.agent is None:
            self._context.emit(PreparationStarted("identity certificate"))
        certificate = certify(builder, self._context.pool, bench, original, self._inputs.prepared, self._context.rng)
        self._context.emit(TemplateCertified(certificate.level, certificate.detail))
        return certificate

    def _tested(self, stack: ExitStack) -> Adversaries:
        """What is verified too: our own and what the tester wants; a resumed run has it on record."""
        context = self._context
        own: tuple[Workload, ...] = ()
        wanted = context.store.adversaries(context.run)
        if not self._was_tested and context.agent is not None:
            facts = Facts(context.kernel, context.info.limits, None, None, {}, device=context.info.description)
            own = odd_shapes(context.kernel, np.random.default_rng([self._inputs.seed, *b"odd shapes"]))
            try:
                wanted = list(context.agent.adversaries(facts))
            except AgentStopped as stopped:  # it may be back for the first plan
                context.emit(Warned(f"no workloads from the tester: {stopped.reason}"))
        return Adversaries(own, wanted, context.original.builder, self._inputs.seed, stack)

    @property
    def _was_tested(self) -> bool:
        """Whether the tester was asked before, and had its say: all but the original comes after that."""
        store, run = self._context.store, self._context.run
        return bool(store.adversaries(run)) or len(store.evaluations(run)) > 1 or bool(store.rounds(run))

    def _settled(self, tested: Adversaries, bench: Bench) -> tuple[Workload, ...]:
        context = self._context
        kept = tested.settle(bench)
        if context.agent is not None and not self._was_tested:
            context.store.add_adversaries(context.run, kept)
            context.emit(AdversariesChosen(kept, tested.dropped))
            left_out = [f"{name} left out: {reason}" for name, reason in tested.dropped.items()]
            shapes = [f"{w.name} ({', '.join(f'{size} = {n}' for size, n in w.sizes.items())})" for w in kept]
            said = [f"also verified on {', '.join(shapes) or 'nothing'}", *left_out]
            context.note(Message(Role.TESTER, Kind.DECISION, "\n".join(said)))
        return kept

    def _baseline(self, bench: Bench) -> Evaluation:
        """The original as it is, measured once: the reference of every ratio that follows."""
        context = self._context
        default = context.kernel.default_configuration
        known = next((e for e in context.store.evaluations(context.run) if e.configuration == default), None)
        evaluator = Evaluator(context.original.space, context.original.builder, bench, rng=self._context.rng)
        baseline = known or evaluator(default)
        if known is None and isinstance(baseline.outcome, LaunchFailed | Crashed):
            baseline = evaluator(default)  # as in `original.twice`
        measured = require_measured(context.original.builder, baseline, bench, self._inputs.prepared)
        if known is None:
            context.store.append(context.run, baseline, 0)  # of no round
        context.emit(BaselineMeasured(measured))
        slowest_s = max(t.median_us for t in measured.times) / 1e6
        bench.launch_deadline_s = min(
            bench.launch_deadline_s, max(SHORTEST_DEADLINE_S, HOPELESS_TIMES * slowest_s, TURNS * bench.slowest_turn_s)
        )
        return baseline
