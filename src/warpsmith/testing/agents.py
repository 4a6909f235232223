"""Conformance tests of agents. A plug-in subclasses the suite and creates its agent:

class TestMine(AgentConformance):
    def make(self, desk):
        return Mine("mine", desk)

No device is needed: the facts are those of a bundled kernel, as in a run before its first round and after some. An
agent that cannot answer raises AgentStopped, whatever the cause is: then the question counts as answered here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from warpsmith.core.hardware import Limits, Resources
from warpsmith.core.outcome import CompileFailed, Evaluation
from warpsmith.devices.base import Original
from warpsmith.record.transcript import Kind, Message, Role
from warpsmith.refactor.allowed import require_allowed
from warpsmith.refactor.base import Concern
from warpsmith.refactor.drafting.application import apply_pass
from warpsmith.refactor.drafting.draft import Draft
from warpsmith.refactor.proposal import Proposal, ProposedForms
from warpsmith.refactor.registry import load_passes
from warpsmith.refactor.untouched import untouched
from warpsmith.spec.document import read_source
from warpsmith.spec.kernel import Kernel
from warpsmith.spec.load import load_kernel
from warpsmith.tuning.agent.allowance import Allowance
from warpsmith.tuning.agent.planning import Agent, AgentStopped, Attempt, Desk, Facts, PassReport, Plan, RoundReport
from warpsmith.tuning.events import ignore
from warpsmith.tuning.rounds.desk import desk_without_record
from warpsmith.tuning.rounds.rewrites import rewrite_configuration

_LIMITS = Limits(1024, 1024, 1024, 64, 49152, 32, 4)
_MOST_ROUNDS = 60
_MOST_REWRITES = 5

T = TypeVar("T")


class AgentConformance:
    def make(self, desk: Desk) -> Agent:
        raise NotImplementedError

    def kernel(self) -> Kernel:
        return untouched(load_kernel("silu_and_mul"))

    # ── the tests ──

    def test_it_says_who_it_is(self) -> None:
        assert self._agent().name

    def test_findings_are_weighed_and_the_weightiest_come_first(self) -> None:
        agent = self._agent()
        for facts in (self._first(), self._later()):
            found = _answer(lambda: agent.analyse(facts)) or ()  # noqa: B023 - asked at once
            assert all(isinstance(finding.concern, Concern) and finding.text and 0 <= finding.weight <= 1 for finding in found)
            assert [finding.weight for finding in found] == sorted((finding.weight for finding in found), reverse=True)

    def test_a_plan_is_made_of_passes_that_there_are(self) -> None:
        """Including passes of earlier rounds: a template grows."""
        for facts in (self._first(), self._later()):
            plan = self._planned(self._agent(), facts)
            if plan is not None:
                self._check(plan, facts)

    def test_planning_comes_to_an_end(self) -> None:
        """Whether passes apply or not, and even without a gain."""
        for applies in (True, False):
            agent, facts = self._agent(), self._first()
            for number in range(1, _MOST_ROUNDS + 1):
                plan = self._planned(agent, facts)
                if plan is None:
                    break
                self._check(plan, facts)
                facts = _after(facts, plan, number, applies=applies)
            else:
                raise AssertionError(f"it still plans after {_MOST_ROUNDS} rounds without a gain")

    def test_a_tester_asks_for_workloads_of_the_kernel(self) -> None:
        kernel, agent = self.kernel(), self._agent()
        wanted = _answer(lambda: agent.adversaries(self._first())) or ()
        declared = {workload.name for workload in kernel.workloads}
        assert len({workload.name for workload in wanted}) == len(wanted)
        for workload in wanted:
            assert workload.name not in declared
            assert workload.sizes.keys() == kernel.workloads[0].sizes.keys()
            assert all(isinstance(size, int) and size > 0 for size in workload.sizes.values())
            assert workload.heldout, "what a tester adds is never timed"
            assert math.isfinite(workload.scale)
            assert workload.scale > 0

    def test_forms_are_allowed_and_can_be_mended(self) -> None:
        agent, facts = self._agent(), self._later()
        plan = self._planned(agent, facts) or Plan((), "a form of its own", write=True)
        for form in _answer(lambda: agent.propose(facts, plan)) or ():
            self._check_form(form, facts)
            mended = _answer(lambda: agent.repair(facts, form, "kernel.cu:3:1: error: expected ';'"))  # noqa: B023 - asked at once
            if mended is not None:
                assert mended.number == form.number
                self._check_form(mended, facts)

    def test_rewrites_have_every_choice_fixed_and_are_never_the_same_twice(self) -> None:
        agent, facts = self._agent(), replace(self._first(), moves=self._moves)
        attempts: list[Attempt] = []
        for number in range(1, _MOST_REWRITES + 1):
            rewrite = _answer(lambda: agent.rewrite(facts, attempts))
            if rewrite is None:
                break
            assert all(len(tunable.values) == 1 for tunable in rewrite.tunables)
            assert rewrite.source.strip()
            if not rewrite.by_passes:
                self._require_allowed(rewrite, facts.kernel)
            assert (rewrite.source, rewrite.grid, rewrite.block) not in [
                (a.proposal.source, a.proposal.grid, a.proposal.block) for a in attempts
            ]
            numbered = replace(rewrite, number=number)
            attempts.append(Attempt(numbered, Evaluation(rewrite_configuration(number), CompileFailed("no"))))

    def test_a_spent_allowance_ends_it_or_costs_nothing(self) -> None:
        """Agents without costs may continue; one that calls a model must stop at the user's limit."""
        desk = desk_without_record(Allowance(tokens=10), ignore)
        desk.note(Message(Role.PLANNER, Kind.REPLY, "as much as may be", input_tokens=10))
        self._planned(self.make(desk), self._first())
        assert desk.ledger.tokens == 10

    # ── facts ──

    def _agent(self) -> Agent:
        return self.make(desk_without_record(Allowance(), ignore))

    def _first(self) -> Facts:
        """Before the first round: the original is measured, nothing was tried."""
        reports = tuple(PassReport(p.name, p.summary, frozenset(p.concerns)) for p in load_passes())
        workloads = self.kernel().tuning_workloads
        return Facts(
            kernel=self.kernel(),
            limits=_LIMITS,
            baseline=Resources(registers=40, gathers=3, scatters=1),
            best=None,
            roofline_fraction={workload.name: 0.2 for workload in workloads},
            baseline_times_us={workload.name: 1000.0 for workload in workloads},
            passes=reports,
        )

    def _later(self) -> Facts:
        first = self._first()
        applied, declined, *others = first.passes
        passes = (replace(applied, applied_in=1), replace(declined, declined="nothing to change"), *others)
        done = RoundReport(1, (applied.name,), "numbers first", 12, 1.4)
        return replace(first, best=Resources(registers=32, spill_bytes=16), rounds=(done,), passes=passes)

    def _moves(self) -> Draft:
        return apply_pass(Draft.of(self.kernel(), _LIMITS), load_passes(["block_size"])[0])

    # ── inspection ──

    def _planned(self, agent: Agent, facts: Facts) -> Plan | None:
        findings = _answer(lambda: agent.analyse(facts)) or ()
        return _answer(lambda: agent.plan(facts, findings))

    def _check(self, plan: Plan, facts: Facts) -> None:
        known = {report.name: report for report in facts.passes}
        assert plan.reason
        assert set(plan.passes) <= known.keys()
        assert len(set(plan.passes)) == len(plan.passes)
        assert {name for name, report in known.items() if report.applied_in is not None} <= set(plan.passes)
        assert plan.share is None or 0 < plan.share <= 1
        fresh = [name for name in plan.passes if known[name].applied_in is None]
        assert fresh or plan.write or plan.proposals, "a round that adds nothing"

    def _require_allowed(self, proposal: Proposal, kernel: Kernel) -> None:
        original = Original(read_source(kernel.source), kernel.defines)
        defaults = {tunable.name: tunable.default for tunable in proposal.tunables}
        require_allowed(proposal.source, original, kernel.language, defines=defaults, folders=tuple(kernel.folders))

    def _check_form(self, form: Proposal, facts: Facts) -> None:
        self._require_allowed(form, facts.kernel)
        assert all(tunable.default in tunable.values for tunable in form.tunables)
        draft = apply_pass(Draft.of(facts.kernel, facts.limits), ProposedForms((form,)))
        assert draft.applications[-1].applied, draft.applications[-1].reason


def _answer(ask: Callable[[], T]) -> T | None:
    try:
        return ask()
    except AgentStopped:
        return None


def _after(facts: Facts, plan: Plan, number: int, *, applies: bool) -> Facts:
    """A round in which every new pass applied, or none did, without a gain."""
    passes = tuple(
        report
        if report.name not in plan.passes or report.applied_in is not None
        else replace(report, applied_in=number if applies else None, declined=None if applies else "nothing to change")
        for report in facts.passes
    )
    done = RoundReport(number, plan.passes, plan.reason, 4, 1.4)
    return replace(facts, passes=passes, rounds=(*facts.rounds, done), best=Resources(registers=40))
