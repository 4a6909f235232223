"""What is said below a result about its gain."""

from typing import Any

import pytest

from warpsmith.report.notes import result_notes, unfinished_notes


def result(**changes: Any) -> dict[str, Any]:
    general = {"config": {"BLOCK": 64}, "speedup": 2.0, "ci95": [1.9, 2.1]}
    return {
        "run": "r",
        "agent": "rules",
        "mode": "template",
        "seconds": 3.0,
        "evaluations": {"Measured": 4},
        "evidence": {"processes": 5, "process_spread": 1.02, "oracle": "the original kernel"},
        "baseline": {"config": {"BLOCK": 32}},
        "general": general,
        "uncertain": None,
        "heldout": {},
        "plan": [],
        "warm": [],
        "template": {"certificate": {"detail": "same tokens"}},
        "stored_in": "runs.sqlite",
        **changes,
    }


ORIGINAL = {"config": {"BLOCK": 32}, "speedup": 1.0, "ci95": [1.0, 1.0]}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"general": ORIGINAL}, "No gain found: the original configuration is the best that was measured."),
        (
            {"general": ORIGINAL, "plan": [{"round": 1, "reason": "r", "evaluations": 9, "speedup": 1.17}]},
            "No gain found: what looked like 1.17x in the search did not when it was measured again beside the original.",
        ),
        (
            {"general": ORIGINAL, "uncertain": {"config": {"BLOCK": 64}, "speedup": 1.02, "ci95": [0.96, 1.07]}},
            "No certain gain, so the original stays. The best found is BLOCK=64: 1.02x, from 0.96 to 1.07.",
        ),
        (
            {"heldout": {"odd": {"speedup": 0.12, "ci95": [0.1, 0.16]}, "even": {"speedup": 0.98, "ci95": [0.9, 1.1]}}},
            "Slower than the original on what was held out, odd (0.12x): tune for such shapes, too, if they occur.",
        ),
    ],
)
def test_a_gain_that_is_none(changes: dict[str, Any], said: str):
    assert result_notes(result(**changes))[0] == said


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        ([], "no pass had a choice to offer;"),
        (
            [{"declined": {"unroll": "no loop", "staging": "no tile"}}],
            "none of the passes that were tried (2) had a choice to offer;",
        ),
        ([{"declined": {"unroll": "no loop"}, "postponed": ["staging"]}], "no time was left for staging."),
        (
            [{"applied": ["unroll"], "declined": {"staging": "no tile"}}],
            "of what unroll offered, nothing was left to choose from.",
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
    evidence = result()["evidence"]
    assert not [note for note in result_notes(result(evidence={**evidence, "others_share": 0.1})) if "Other programs" in note]
    said = [note for note in result_notes(result(evidence={**evidence, "others_share": 0.72})) if "Other programs" in note]
    assert said == ["Other programs took up to 72% of the cores meanwhile: on a quiet machine the intervals are narrower."]


def test_outputs_that_were_not_really_verified_are_named():
    evidence = {**result()["evidence"], "passed_by_zeros": {"small": ["out", "rest"]}}
    said = [note for note in result_notes(result(evidence=evidence)) if "Zeros" in note]
    assert len(said) == 1
    assert "out, rest on small. Set a smaller atol" in said[0]


@pytest.mark.parametrize(("status", "can_resume"), [("running", False), ("interrupted", True), ("killed", True)])
def test_only_a_run_that_nobody_works_on_is_to_be_resumed(status: str, can_resume: bool):
    said = unfinished_notes(result(general=None, status=status))
    assert ("go on with: warpsmith resume r" in said) is can_resume
    assert any("a process works on it" in note for note in said) is not can_resume


def test_a_winner_for_the_declared_shapes_alone_is_called_so():
    right = {"workload": "odd-1", "sizes": {"n": 37}, "passed": True, "reason": None}
    wrong = {"workload": "odd-2", "sizes": {"n": 192}, "passed": False, "reason": "y: it wrote beyond its end"}
    for entries in (None, [], [right]):
        assert not [
            n for n in result_notes(result(evidence={**result()["evidence"], "odd_shapes": entries})) if "shapes only" in n
        ]
    said = result_notes(result(evidence={**result()["evidence"], "odd_shapes": [right, wrong]}))[0]
    assert "wrong where the original is right, at n=192 (y: it wrote beyond its end)" in said
    assert "[[constraints]]" in said
