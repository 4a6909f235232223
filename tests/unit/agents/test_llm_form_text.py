"""What a model is told of each form: figures with what they mean, in the form's own words, and none without a value."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from llm_desk import KERNEL, LIMITS

from warpsmith.agents.llm.form_text import forms_text
from warpsmith.core.configuration import Configuration
from warpsmith.core.expression import Expression
from warpsmith.core.hardware import Resources
from warpsmith.core.outcome import ArgumentCheck, CompileFailed, Evaluation, Measured, Verdict, WorkloadTime
from warpsmith.refactor.base import Tunable
from warpsmith.refactor.proposal import Proposal
from warpsmith.source.lane_strides import Access
from warpsmith.space import Space
from warpsmith.spec.kernel import Constraint, Launch, Parameter, Workload
from warpsmith.tuning.agent.form_facts import form_facts
from warpsmith.tuning.agent.planning import Facts

GOOD = Verdict((ArgumentCheck("w", "out", True, 0.0),))
FORM_2 = Proposal(
    2,
    "",
    ("n",),
    ("64",),
    tunables=(Tunable("TILE", (1, 2, 4), 2, ""), Tunable("ROWS", (8, 16), 16, "")),
    names=(("TILE", "TILE_F2"),),
)
ACCESSES = {
    0: (Access(3, "x[i]", "1", 0, False),),
    2: (Access(7, "out[i]", "1", 0, True), Access(9, "q[row * k / 8]", "(k/8)", 2, False), Access(4, "t[j]", None, 1, True)),
}


def space() -> Space:
    one = Expression.parse(1)
    parameters = (Parameter("FORM", (0, 2), 0), Parameter("TILE_F2", (1, 2, 4), 2), Parameter("ROWS", (8, 16), 16))
    rules = [Constraint(Expression.parse(f"FORM == 2 or {rule}"), "its own") for rule in ("TILE_F2 == 2", "ROWS == 16")]
    launch = Launch((one,), (one,), Expression.parse(0))
    return Space.build(parameters, tuple(rules), launch, (Workload("w", {}),), LIMITS)


def point(form: int, tile: int, rows: int, score: float, **resources: int) -> Evaluation:
    time = WorkloadTime("w", 100.0 * score, score, (0.9 * score, 1.1 * score), 9)
    outcome = Measured(GOOD, (time,), score, Resources(**resources, max_threads=9), ci95=(0.9 * score, 1.1 * score))
    return Evaluation(Configuration.of({"FORM": form, "TILE_F2": tile, "ROWS": rows}), outcome)


KNOWN = [
    point(0, 2, 16, 1.0, vector_width=8),
    point(2, 2, 16, 2.0, vector_width=16, gathers=84),
    point(2, 4, 16, 0.5, vector_width=16, gathers=0),
    point(2, 1, 8, 4.0),
    Evaluation(Configuration.of({"FORM": 2, "TILE_F2": 4, "ROWS": 8}), CompileFailed("/tmp/x/k.cu:3: error: a | b")),
]


def told(known: list[Evaluation] = KNOWN, **facts: object) -> str:
    found = form_facts(space(), known, [FORM_2], ACCESSES.__getitem__)
    return forms_text(replace(Facts(KERNEL, LIMITS, None, None, {}), forms=found, **facts))


def test_each_form_is_told_at_its_default_and_its_best_in_its_own_words():
    text = told()
    assert "The kernel itself (form 0), 1 evaluation(s):\n- default: 1.00x" in text
    assert "- default (TILE=2 ROWS=16): 0.50x [0.45, 0.56] the original's speed; vector width 16, gathers 84\n" in text
    assert "- best (TILE=4 ROWS=16): 2.00x [1.82, 2.22] the original's speed; vector width 16, gathers 0\n" in text
    assert "  w: 50.0 µs, 2.00x [1.82, 2.22]" in text
    assert "TILE_F2" not in text


def test_the_table_has_the_best_first_and_what_failed_last():
    rows = [line for line in told().splitlines() if line.startswith("|")]
    assert rows[0] == "| speed | TILE | ROWS | compiler |"
    assert [row.split("|")[1].split()[0] for row in rows[2:]] == ["2.00x", "0.50x", "0.25x", "CompileFailed"]
    assert rows[-1] == "| CompileFailed | 4 | 8 | k.cu:3: error: a / b |"


def test_the_table_is_bounded_and_has_the_best_of_every_value():
    wide = Space.listed((Parameter("TILE", tuple(range(40)), 0),), np.arange(40)[:, None], Configuration.of({"TILE": 0}))
    known = [Evaluation(Configuration.of({"TILE": n}), point(0, 1, 8, 1 + n).outcome) for n in range(40)]
    [found] = form_facts(wide, known, [], lambda _: ())
    assert len(found.rows) == 12
    assert found.rows == form_facts(wide, known[::-1], [], lambda _: ())[0].rows
    assert found.rows[-1] is known[-1], "the worst"


def test_memory_is_told_by_line_and_how_hot_it_is():
    text = told()
    assert "memory of form 0: neighbouring threads touch neighbouring or the same elements in every access." in text
    assert (
        "line 9 (hot: innermost loop) `q[row * k / 8]`, (k/8) elements apart; line 4 (in a loop) writes `t[j]`, by an index"
        in text
    )


def test_the_compilers_count_of_gathers_goes_before_what_the_text_tells():
    counted = [point(0, 2, 16, 1.0, gathers=5, scatters=1), point(2, 2, 16, 2.0, gathers=0, scatters=0)]
    text = told(counted)
    assert "every access. The 6 gathers and scatters are where the compiler cannot tell that, or under masks." in text
    assert "- memory of form 2: the compiler made no gather and no scatter." in text
    assert "q[row * k / 8]" not in text


def test_the_distance_from_the_roof_is_in_us_with_what_sets_it():
    text = told(roof_us={"w": 40.0}, bounds={"w": "memory"})
    assert "w: 50.0 µs, 2.00x [1.82, 2.22]; 10.0 µs above its memory roof of 40.0 µs (80%)" in text
    assert "60% of the roof" not in text
    above = told(roof_us={"w": 60.0}, bounds={"w": "memory"})
    assert "120% of its memory roof of 60.0 µs" in above
    assert above.count("More than 100 % of a memory roof: it is the time to move every argument once") == 1
    assert "the operations that kernel.toml's [traffic] counts" in told(roof_us={"w": 60.0}, bounds={"w": "arithmetic"})


def test_shares_are_told_of_one_form_and_only_where_they_explain_something():
    assert "share of the variation" not in told()
    steady = [point(2, t, r, 0.2 * t + 0.0001 * r) for t in (1, 2, 4) for r in (8, 16)]
    assert "share of the variation" not in told([*KNOWN[:1], *steady]), "six results are too few"


def test_a_form_without_results_is_told_as_such():
    assert "Form 2, 0 evaluation(s):\n- default: not evaluated." in told(KNOWN[:1])
