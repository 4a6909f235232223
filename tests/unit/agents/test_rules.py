"""The rules agent: what it reads out of measurements and source, and what it does about it."""

from dataclasses import replace

import pytest

from warpsmith.agents.rules import RulesAgent
from warpsmith.core.hardware import Limits, Resources
from warpsmith.refactor.base import Concern
from warpsmith.spec.load import load_kernel
from warpsmith.tuning.agent.allowance import Allowance
from warpsmith.tuning.agent.planning import Facts, Finding, PassReport, RoundReport
from warpsmith.tuning.events import ignore
from warpsmith.tuning.rounds.desk import desk_without_record

LIMITS = Limits(8192, 8192, 8192, 8192, 32768, 32, 2)
PASSES = (
    PassReport("lift_constants", "numbers become parameters", frozenset({Concern.PARALLELISM})),
    PassReport("block_size", "threads in a block", frozenset({Concern.PARALLELISM})),
    PassReport("map_2d", "two-dimensional blocks", frozenset({Concern.COALESCING})),
    PassReport("fast_math", "approximate functions", frozenset({Concern.BALANCE})),
    PassReport("mine", "a plug-in's", frozenset()),
)
AGENT = RulesAgent("rules", desk_without_record(Allowance(), ignore))


def facts(**changes) -> Facts:
    known = Facts(
        kernel=load_kernel("silu_and_mul"),
        limits=LIMITS,
        baseline=Resources(gathers=3, scatters=1),
        best=None,
        roofline_fraction={"llama-7b": 0.2},
        passes=PASSES,
    )
    return replace(known, **changes)


def test_findings_name_the_fact_they_rest_on():
    found = AGENT.analyse(facts())
    assert found[0].concern is Concern.COALESCING
    assert "3 gathers and 1 scatters" in found[0].text
    assert any("expf (line 18)" in f.text for f in found if f.concern is Concern.BALANCE)
    assert any("20% of the roofline on 'llama-7b'" in f.text for f in found)
    assert [f.weight for f in found] == sorted((f.weight for f in found), reverse=True)


def test_conditions_in_the_steps_of_a_loop_are_found():
    assert any("condition of its own (line 33)" in f.text for f in AGENT.analyse(facts(kernel=load_kernel("matmul"))))
    assert not any("condition of its own" in f.text for f in AGENT.analyse(facts()))


def test_a_kernel_at_its_roof_has_no_findings_and_no_further_round():
    at_the_roof = facts(roofline_fraction={"a": 1.0, "b": 0.96}, rounds=(RoundReport(1, (), "", 9, 2.0),))
    assert AGENT.analyse(at_the_roof) == ()
    assert AGENT.plan(at_the_roof, ()) is None


def test_the_first_round_lifts_numbers_and_answers_the_weightiest_findings():
    plan = AGENT.plan(facts(), AGENT.analyse(facts()))
    assert not plan.is_last
    assert plan.passes[:3] == ("lift_constants", "block_size", "map_2d")
    assert "map_2d (for coalescing)" in plan.reason
    assert "mine" not in plan.passes


def test_a_pass_that_makes_another_kernel_takes_no_place_of_others():
    many = tuple(PassReport(f"p{n}", "?", frozenset({Concern.COALESCING})) for n in range(6))
    beside = PassReport("serial_warps", "?", frozenset({Concern.COALESCING}))
    found = facts(passes=(beside, *many))
    plan = AGENT.plan(found, AGENT.analyse(found))
    assert plan is not None
    assert plan.passes == ("p0", "p1", "p2", "p3", "p4", "serial_warps")


def test_a_pass_that_nothing_asks_for_gets_its_turn_where_no_other_applies():
    only = (PassReport("rows_per_block", "rows of a block", frozenset({Concern.PARALLELISM})),)
    plan = AGENT.plan(facts(passes=only), ())
    assert plan is not None
    assert plan.passes == ("rows_per_block",)


def test_later_rounds_keep_the_passes_of_earlier_ones():
    passes = [replace(p, applied_in=1) if p.name != "mine" else p for p in PASSES]
    later = facts(passes=passes, rounds=(RoundReport(1, (), "", 9, 2.0),))
    plan = AGENT.plan(later, AGENT.analyse(later))
    assert plan.passes == ("lift_constants", "block_size", "map_2d", "fast_math", "mine")
    assert plan.is_last
    assert "what has not been tried yet" in plan.reason


@pytest.mark.parametrize(
    "passes", [[replace(p, applied_in=1) for p in PASSES], [replace(p, declined="no loop") for p in PASSES], []]
)
def test_nothing_is_planned_when_nothing_is_left(passes):
    assert AGENT.plan(facts(passes=passes), [Finding(Concern.BALANCE, "", 1.0)]) is None


def test_two_rounds_without_a_gain_are_enough():
    rounds = [RoundReport(n, (), "", 9, speedup) for n, speedup in ((1, 3.0), (2, 3.0), (3, 3.01))]
    stalled = facts(rounds=rounds)
    assert AGENT.plan(stalled, AGENT.analyse(stalled)) is None
    gaining = facts(rounds=rounds[:2])
    assert AGENT.plan(gaining, AGENT.analyse(gaining)) is not None
