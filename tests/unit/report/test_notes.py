"""What is said below a result about its gain."""

from typing import Any

import pytest
from tests.results import figures, typed

from warpsmith.report.notes import result_notes, unfinished_notes

EVIDENCE = {"processes": 5, "process_spread": 1.02, "oracle": "the original kernel"}


def result(**changes: Any) -> Any:
    own = {"agent": "rules", "seconds": 3.0, "evaluations": {"Measured": 4}, "stored_in": "runs.sqlite", "evidence": EVIDENCE}
    general = figures(2.0, 1.9, 2.1, config={"BLOCK": 64})
    template = {"certificate": {"level": "tokens", "detail": "same tokens"}}
    return typed(**own | {"baseline": ORIGINAL, "general": general, "template": template} | changes)


ORIGINAL = figures(config={"BLOCK": 32})


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"general": ORIGINAL}, "No gain found: the original configuration is the fastest measured."),
        (
            {"general": ORIGINAL, "plan": [{"round": 1, "reason": "r", "evaluations": 9, "speedup": 1.17}]},
            "No gain found: what looked like 1.17x in the search was not confirmed when measured again.",
        ),
        (
            {"general": ORIGINAL, "uncertain": figures(1.02, 0.96, 1.07, config={"BLOCK": 64})},
            "No significant gain, so the original stays. The best found is BLOCK=64: 1.02x, from 0.96 to 1.07.",
        ),
        (
            {"heldout": {"odd": figures(0.12, 0.1, 0.16), "even": figures(0.98, 0.9, 1.1)}},
            "Slower than the original on held-out workloads, odd (0.12x): tune for such shapes too if they occur.",
        ),
    ],
)
def test_a_gain_that_is_none(changes: dict[str, Any], said: str):
    assert result_notes(result(**changes))[0] == said


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        ([], "no pass offered a parameter;"),
        (
            [{"declined": {"unroll": "no loop", "staging": "no tile"}}],
            "none of the passes that were tried (2) offered a parameter;",
        ),
        ([{"declined": {"unroll": "no loop"}, "postponed": ["staging"]}], "no time was left for staging."),
        (
            [{"applied": ["unroll"], "declined": {"staging": "no tile"}}],
            "of what unroll offered, no alternative was left.",
        ),
    ],
)
def test_why_there_is_nothing_to_search(plan: list[dict[str, Any]], said: str):
    entries = [{"round": 1, "reason": "r", "evaluations": 0, "speedup": None, **entry} for entry in plan]
    nothing = {**ORIGINAL, "config": {}}
    assert result_notes(result(agent="rules", general=nothing, plan=entries))[0].startswith(f"Nothing to search: {said}")


def test_a_round_tells_what_it_had_no_time_for():
    entry = {"round": 1, "reason": "because: unroll, barriers", "evaluations": 3, "speedup": 2.0}
    said = [note for note in result_notes(result(plan=[entry, {**entry, "postponed": ["barriers"]}])) if "round" in note]
    assert said == [
        "In round 1: because: unroll, barriers; 3 evaluations, then 2.00x as searched.",
        "In round 1: because: unroll, barriers (no time was left for barriers); 3 evaluations, then 2.00x as searched.",
    ]


def test_a_gain_needs_no_comment():
    assert result_notes(result())[0].startswith("4 measured in 3 s; claims from 5 fresh processes")


def test_a_machine_that_others_used_is_named():
    evidence = EVIDENCE
    assert not [note for note in result_notes(result(evidence={**evidence, "others_share": 0.1})) if "Other programs" in note]
    said = [note for note in result_notes(result(evidence={**evidence, "others_share": 0.72})) if "Other programs" in note]
    doubt = "fresh processes disagree by 2%, and the figures may be off by as much. Measure on a quiet machine."
    assert said == [f"Other programs took up to 72% of the cores meanwhile: {doubt}"]


def test_outputs_that_were_not_really_verified_are_named():
    evidence = {**EVIDENCE, "passed_by_zeros": {"small": ["out", "rest"]}}
    said = [note for note in result_notes(result(evidence=evidence)) if "All-zero" in note]
    assert len(said) == 1
    assert "out, rest on small. Set a smaller atol" in said[0]


@pytest.mark.parametrize(("status", "can_resume"), [("running", False), ("interrupted", True), ("killed", True)])
def test_only_a_run_that_nobody_works_on_is_to_be_resumed(status: str, can_resume: bool):
    said = unfinished_notes(result(general=None, status=status))
    assert ("continue with: warpsmith resume r" in said) is can_resume
    assert any("a process is working on it" in note for note in said) is not can_resume


def test_a_winner_for_the_declared_shapes_alone_is_called_so():
    right = {"workload": "odd-1", "sizes": {"n": 37}, "passed": True, "reason": None}
    wrong = {"workload": "odd-2", "sizes": {"n": 192}, "passed": False, "reason": "y: it wrote beyond its end"}
    for entries in (None, [], [right]):
        assert not [n for n in result_notes(result(evidence={**EVIDENCE, "odd_shapes": entries})) if "shapes only" in n]
    said = result_notes(result(evidence={**EVIDENCE, "odd_shapes": [right, wrong]}))[0]
    assert "wrong where the original is correct, at n=192 (y: it wrote beyond its end)" in said
    assert "[[constraints]]" in said


def test_what_was_faster_than_the_machine_is_said():
    entry = {"workload": "w", "config": {"BLOCK": 64}, "roofline_fraction": 24.1, "least_us": 900.0}
    above = [
        {**entry, "refused": True, "reason": "66 MB must move"},
        {
            **entry,
            "roofline_fraction": 1.08,
            "refused": False,
            "reason": "roof uncertain: the arguments fit in the last-level cache",
        },
    ]
    notes = result_notes(result(roofline={"above": above}))
    assert "Rejected although it seemed faster: BLOCK=64, 2410% of the roofline on w, measured twice: 66 MB must move." in notes
    assert "Above the roofline on w: roof uncertain: the arguments fit in the last-level cache." in notes


def test_workloads_above_the_roof_for_one_reason_share_a_sentence():
    reasons = [f"roof uncertain: the arguments ({size} MB) fit in the last-level cache" for size in (33.6, 26.2)]
    above = [
        {"workload": w, "config": {}, "roofline_fraction": 1.3, "least_us": None, "refused": False, "reason": reason}
        for w, reason in zip("ab", reasons, strict=True)
    ]
    together = "Above the roofline on a, b: roof uncertain: the arguments fit in the last-level cache."
    assert together in result_notes(result(roofline={"above": above}))
    assert f"Above the roofline on b: {reasons[1]}." in result_notes(result(roofline={"above": above[1:]}))
