"""How a plan becomes a round's template when time is short.

The clock and what makes templates are stand-ins, so that seconds are exact.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

from warpsmith.core.hardware import Limits
from warpsmith.refactor.base import Concern
from warpsmith.refactor.proposal import Proposal
from warpsmith.spec.load import load_kernel
from warpsmith.tuning.agent.planning import Facts, PassReport, Plan
from warpsmith.tuning.budget import Budget
from warpsmith.tuning.events import PassesPostponed
from warpsmith.tuning.rounds.agenda import Agenda

PASSES = ("lift", "reduce", "unroll")
KERNEL = load_kernel("silu_and_mul").path
LIMITS = Limits(1024, 1024, 512, 64, 32768, 32, 2)


class SlowTemplating:
    """Every pass takes ten seconds; it stops where it is told to, as `tuning.templates.templating` does."""

    def __init__(self, clock):
        self.clock = clock
        self.efforts = []

    def make(self, passes, proposals, folder, effort):
        self.efforts.append(effort)
        applied, started = [], self.clock.now
        for name in passes:
            is_over = effort.seconds is not None and self.clock.now - started >= effort.seconds
            if not (is_over and name not in effort.needed and set(applied) - effort.needed):
                self.clock.now += 10
                applied.append(name)
        return KERNEL, {"applied": applied, "declined": {}}


class Planner:
    """Plans all that no round has applied yet."""

    def analyse(self, facts):
        return ()

    def plan(self, facts, findings):
        untried = [p.name for p in facts.passes if p.applied_in is None]
        return Plan(tuple(untried), "because", is_last=True) if untried else None


def agenda(seconds):
    clock = SimpleNamespace(now=0.0)
    events, notes = [], []
    shop = SimpleNamespace(
        run="run",
        order=SimpleNamespace(budget=Budget(None, seconds) if seconds else Budget(40)),
        store=SimpleNamespace(begin_round=lambda run, about: None),
        elapsed_s=lambda: clock.now,
        folder=Path("unused"),
        emit=events.append,
        note=lambda message: notes.append(message.text),
    )
    templating = SlowTemplating(clock)
    made = Agenda(shop, Planner(), templating, [PassReport(n, n, frozenset({Concern.BALANCE})) for n in PASSES])
    return made, templating, clock, events, notes


def facts_of(made):
    return lambda: Facts(load_kernel(KERNEL), LIMITS, None, None, {}, passes=tuple(made.passes))


def test_without_a_limit_all_that_was_planned_is_applied():
    made, templating, _, events, _ = agenda(None)
    assert made.next_template(1, facts_of(made)) is not None
    assert templating.efforts[0].seconds is None
    assert templating.efforts[0].combinations == 0
    assert made.plans[0].report["applied"] == list(PASSES)
    assert made.plans[0].plan["is_last"]
    assert not any(isinstance(event, PassesPostponed) for event in events)


def test_passes_whose_turn_does_not_come_wait_for_a_later_round():
    made, templating, clock, events, notes = agenda(60)
    assert made.next_template(1, facts_of(made)) is not None
    assert templating.efforts[0].seconds == 0.3 * 60
    assert made.plans[0].report["applied"] == ["lift", "reduce"]
    assert not made.plans[0].plan["is_last"]
    assert PassesPostponed(("unroll",)) in events
    assert "postponed to a later round for lack of time: unroll" in notes
    clock.now = -60.0  # as if there were twice the time after all
    assert made.next_template(2, facts_of(made)) is not None
    assert templating.efforts[1].needed >= {"lift", "reduce"}
    assert made.plans[1].report["applied"] == list(PASSES)


def test_the_last_template_is_searched_when_there_is_no_time_for_another():
    made, templating, _, _, notes = agenda(60)
    assert made.next_template(1, facts_of(made)) is not None  # took 20 s; 0.3 of the 40 that are left is less
    assert made.next_template(2, facts_of(made)) is None
    assert len(templating.efforts) == 1
    assert notes[-1] == "no further template: the remaining time goes to searching the last one"


def test_a_plan_in_vain_is_told_to_who_plans_again_and_nothing_is_analysed_twice():
    made, templating, _, _, _ = agenda(None)
    asked = []

    class Stubborn(Planner):
        def analyse(self, facts):
            asked.append("analyst")
            return ()

        def plan(self, facts, findings):
            asked.append(facts.in_vain)
            return Plan(("unroll",), "because", write=True)

        def propose(self, facts, plan):
            return ()

    templating.make = lambda passes, proposals, folder, effort: (KERNEL, {"applied": [], "declined": {"unroll": "no loop"}})
    templating.problem_of = lambda proposal: None
    made._agent = Stubborn()
    assert made.next_template(1, facts_of(made)) is None
    why = "unroll: no loop; no usable form was written"
    assert asked == ["analyst", (), (why,), (why, why)]


def test_what_became_of_a_form_is_said_under_its_authors_name():
    made, templating, _, _, _ = agenda(None)
    noted = []
    made._context.note = noted.append

    class Author(Planner):
        name = "somebody"

        def plan(self, facts, findings):
            return Plan(("unroll",), "because", write=True)

        def propose(self, facts, plan):
            return (Proposal(1, "", ("1",), ("1",), hypothesis="less"),)

        def repair(self, facts, proposal, problem):
            return None

    templating.problem_of = lambda proposal: "does not compile: no"
    made._agent = Author()
    assert made.next_template(1, facts_of(made)) is not None
    told = [message.text for message in noted if message.model == "somebody"]
    assert told == ["form 1 (less) is dropped: does not compile: no"]
