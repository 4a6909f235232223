"""Forms are raced: defaults first, as many tries for each that keeps up, and none for one that stays far behind."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from warpsmith.core.configuration import Configuration
from warpsmith.core.expression import Expression
from warpsmith.core.hardware import Limits
from warpsmith.core.outcome import ArgumentCheck, Evaluation, Measured, Verdict
from warpsmith.refactor.proposal import FORM
from warpsmith.search.registry import load_strategy
from warpsmith.space import Space
from warpsmith.spec.kernel import Constraint, Launch, Parameter, Workload
from warpsmith.tuning.rounds.form_race import FormRace

GOOD = Verdict((ArgumentCheck("w", "out", True, 0.0),))
SLOWNESS = {0: 1.0, 1: 0.25, 2: 0.9, 3: 0.26}


def space(*, more: tuple[int, ...] = ()) -> Space:
    """The original alone; form 1 with TILE; form 2 with TILE_F2, whose default is not the least; form 3 without its default."""
    one = Expression.parse(1)
    tile, other = Parameter("TILE", (1, 2, 4, 8, 16, *more), 4), Parameter("TILE_F2", tuple(range(1, 9)), 8)
    rules = ("TILE == 4 or FORM in (1, 3)", "TILE_F2 == 8 or FORM == 2", "FORM != 3 or TILE != 4")
    constraints = tuple(Constraint(Expression.parse(rule), "belongs to its form") for rule in rules)
    limits = Limits(1024, 1024, 1024, 64, 49152, 32, 2)
    forms = Parameter(FORM, (0, 1, 2, 3), 0)
    return Space.build(
        (forms, tile, other), constraints, Launch((one,), (one,), Expression.parse(0)), (Workload("w", {}),), limits
    )


def race(over: Space, before: Mapping[object, int] | None = None, *, drops: bool = True) -> FormRace:
    return FormRace(over, lambda _, part: load_strategy("gp")(part, np.random.default_rng(0)), before or {}, drops=drops)


def outcome(configuration: Configuration) -> Evaluation:
    score = SLOWNESS[configuration[FORM]] * (1 + 0.01 * configuration["TILE"])
    return Evaluation(configuration, Measured(GOOD, (), score, ci95=(0.98 * score, 1.02 * score)))


def run(racing: FormRace, at_most: int) -> list[Configuration]:
    done = []
    while len(done) < at_most and (asked := racing.ask(1)):
        done += asked
        racing.tell(outcome(asked[0]))
    return done


def test_every_form_is_tried_at_its_default_before_anything_else():
    over = space()
    racing = race(over)
    racing.tell(outcome(over.default))  # the baseline
    first, second, third, *_ = run(racing, 40)
    assert [first[FORM], first["TILE"], second[FORM], second["TILE_F2"]] == [1, 4, 2, 8]
    assert third[FORM] == 3
    assert third["TILE"] != 4, "where its default is not allowed, what differs least from it"


def test_a_form_far_behind_gets_three_further_tries_and_then_none():
    over = space()
    racing = race(over)
    racing.tell(outcome(over.default))
    done = run(racing, 40)
    assert len(set(done)) == len(done)
    counts = {form: sum(c[FORM] == form for c in done) for form in (0, 1, 2, 3)}
    assert counts == {0: 0, 1: 5, 2: 4, 3: 4}, "the original has one configuration, which was known; the fast ones are exhausted"
    assert racing.dropped.keys() == {2}
    assert "after 4 evaluations" in racing.dropped[2]
    assert "below 50%" in racing.dropped[2]


def test_with_nothing_else_to_spend_on_no_form_is_given_up():
    over = space()
    done = run(race(over, drops=False), 100)
    assert len(done) == over.size


def test_a_form_that_was_given_up_stays_so_until_it_has_more_choices():
    over = space()
    first = race(over)
    known = [outcome(c) for c in (over.default, *run(first, 40))]
    again = race(over, first.sizes)
    wider = race(space(more=(32,)), first.sizes)
    for evaluation in known:
        again.tell(evaluation)
        wider.tell(evaluation)
    assert run(again, 10) == []
    assert again.dropped.keys() == {2}
    assert sorted((c[FORM], c["TILE"]) for c in run(wider, 10)) == [(1, 32), (3, 32)]


def test_lookahead_never_asks_for_the_same_twice():
    over = space()
    racing = race(over, drops=False)
    asked: list[Configuration] = []
    while more := racing.ask(3):
        asked += more
        for configuration in more:
            racing.tell(outcome(configuration))
    assert len(asked) == len(set(asked)) == over.size
