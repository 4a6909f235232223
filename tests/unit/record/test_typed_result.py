"""Results as they were recorded are read, and written as they were."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.results import figures, typed

from warpsmith.core.errors import UnavailableError
from warpsmith.record.result import RunResult, UnfinishedRun, read_result

DATA = Path(__file__).parent / "data"


@pytest.mark.parametrize("name", ["template", "direct"])
def test_what_a_run_printed_is_printed_again(name: str):
    printed = (DATA / f"result_{name}.json").read_text()
    found = json.loads(printed)
    again = json.loads(json.dumps(read_result(found).as_json()))
    assert again == found
    assert list(again) == list(found), "in the same order"


def test_results_of_earlier_versions_lack_what_came_later():
    found = typed()
    assert isinstance(found, RunResult)
    assert (found.mode, found.warm, found.evidence.others_share, found.template) == ("template", (), None, None)


def test_a_run_without_a_claim_is_unfinished():
    assert isinstance(typed(general=None, baseline=None), UnfinishedRun)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"general": {**figures(), "ci95": [1.0]}}, "general.ci95: 2 values expected, not [1.0]"),
        ({"general": {**figures(), "verified": "yes"}}, "general.verified: bool expected, not 'yes'"),
        ({"seed": True}, "seed: int expected, not True"),
        ({"heldout": {"w": {}}}, "heldout.w: it has no config, median_us, speedup, ci95, verified"),
        ({"evaluations": None}, "evaluations: an object expected, not None"),
    ],
)
def test_damage_is_told_with_its_place(changes: dict[str, object], said: str):
    with pytest.raises(UnavailableError, match="damaged") as caught:
        typed(**changes)
    assert said in caught.value.message
