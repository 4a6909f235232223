"""T4 result files: every kind of invalidity, the units, and the fields that some tuners leave out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from warpsmith.core.configuration import Configuration
from warpsmith.core.errors import InputError
from warpsmith.core.outcome import CompileFailed, LaunchFailed, Measured, TimedOut, WrongResult
from warpsmith.record.foreign import load_recording


def result(block: Any, tile: Any, time: Any, invalidity: str = "correct", **more: Any) -> dict[str, Any]:
    return {
        "configuration": {"block": block, "tile": tile},
        "times": {"compilation": 100.0, "benchmark": 50.0, "validation": 10.0, "framework": 7.0, "runtimes": [time, time]},
        "invalidity": invalidity,
        "correctness": 1,
        "measurements": [{"name": "time", "value": time, "unit": "ms"}, {"name": "GFLOP/s", "value": 100 / time, "unit": ""}],
        "objectives": ["time"],
        **more,
    }


def write(tmp_path: Path, results: Any, **more: Any) -> Path:
    path = tmp_path / "A100_T4.json"
    path.write_text(json.dumps({"schema_version": "1.0.0", "results": results, **more}))
    return path


def test_results_become_a_space(tmp_path: Path):
    path = write(tmp_path, [result(128, 2, 3.0), result(32, 1, 4.0), result(128, 1, 2.0)])
    recording = load_recording(path)
    assert [p.values for p in recording.space.parameters] == [(32, 128), (1, 2)], "values in ascending order"
    assert len(recording.space) == 3, "only what is listed"
    assert recording.space.default == Configuration.of({"block": 128, "tile": 2})
    assert recording.optimum == pytest.approx(2.0)
    assert recording.seconds == pytest.approx([0.16] * 3), "compilation, validation and benchmark; milliseconds"


@pytest.mark.parametrize(("unit", "seconds"), [("seconds", 160.0), ("milliseconds", 0.16), ("microseconds", 0.00016)])
def test_the_unit_of_times(tmp_path: Path, unit: str, seconds: float):
    recording = load_recording(write(tmp_path, [result(1, 1, 1.0)], metadata={"timeunit": unit}))
    assert recording.seconds[0] == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("invalidity", "kind"),
    [("compile", CompileFailed), ("runtime", LaunchFailed), ("correctness", WrongResult), ("timeout", TimedOut)],
)
def test_invalidity_is_an_outcome(tmp_path: Path, invalidity: str, kind: type):
    recording = load_recording(write(tmp_path, [result(1, 1, 1.0), result(2, 1, 1.0, invalidity)]))
    assert isinstance(recording.outcomes[0], Measured)
    assert isinstance(recording.outcomes[1], kind)


def test_what_breaks_constraints_is_not_of_the_space(tmp_path: Path):
    recording = load_recording(write(tmp_path, [result(1, 1, 1.0), result(2, 1, 1.0, "constraints")]))
    assert len(recording.space) == 1
    assert recording.left_out == 1


def test_the_objective_may_be_a_rate(tmp_path: Path):
    rows = [result(1, 1, 4.0, objectives=["GFLOP/s"]), result(2, 1, 5.0, objectives=["GFLOP/s"])]
    recording = load_recording(write(tmp_path, rows))
    assert recording.objective.higher_is_better
    assert recording.optimum == pytest.approx(25.0)


def test_runtimes_stand_in_for_a_missing_measurement(tmp_path: Path):
    rows = [result(1, 1, 4.0, measurements=[]), result(2, 1, 5.0, measurements=None, times={})]
    recording = load_recording(write(tmp_path, rows))
    assert recording.optimum == pytest.approx(4.0)
    assert isinstance(recording.outcomes[1], LaunchFailed)


def test_of_a_configuration_measured_twice_the_first_counts(tmp_path: Path):
    recording = load_recording(write(tmp_path, [result(1, 1, 4.0), result(1, 1, 2.0), result(2, 1, 8.0)]))
    assert len(recording.space) == 2
    assert recording.optimum == pytest.approx(4.0)


@pytest.mark.parametrize(
    ("results", "words"),
    [
        ({}, "does not hold configurations"),
        ([1], "does not hold configurations"),
        ([{"configuration": {}}], "does not hold configurations"),
        ([], "no configurations"),
        ([result(1, 1, 1.0), {"configuration": {"block": 1}, "invalidity": "correct"}], "result 1 has the parameters block;"),
        ([result([1], 1, 1.0)], "block of result 0 is [1]"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, results: Any, words: str):
    with pytest.raises(InputError) as caught:
        load_recording(write(tmp_path, results))
    assert words in str(caught.value)
    assert "A100_T4.json" in str(caught.value)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"times": {"runtimes": 5}}, '"runtimes" of result 1 is 5'),
        ({"measurements": {"a": 1}}, '"measurements" of result 1 is'),
        ({"objectives": "time"}, "\"objectives\" of result 1 is 'time'"),
        ({"times": {"compilation": 10**400}}, "compilation of result 1 is not a time"),
    ],
)
def test_a_malformed_result_is_refused_with_its_number(tmp_path: Path, more: dict[str, Any], said: str):
    with pytest.raises(InputError, match=said):
        load_recording(write(tmp_path, [result(1, 1, 1.0), result(2, 1, 1.0, **more)]))
