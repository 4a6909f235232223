"""Kernel Tuner caches as they occur: closed or not, with every way of saying that a configuration failed."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from warpsmith.core.configuration import Configuration
from warpsmith.core.errors import InputError
from warpsmith.core.outcome import CompileFailed, LaunchFailed, Measured
from warpsmith.record.foreign import Recording, load_recording

WriteCache = Callable[..., Path]
OPTIMUM = Configuration.of({"block": 128, "tile": 2, "padding": 1})


def outcome_of(recording: Recording, **values: Any) -> Any:
    number = recording.space.index(Configuration.of(values))
    assert number is not None
    return recording.outcomes[number]


def test_a_cache_becomes_a_space_with_an_outcome_for_every_configuration(write_cache: WriteCache):
    recording = load_recording(write_cache())
    assert (recording.name, recording.kernel, recording.device) == ("small", "some_kernel", "Some GPU")
    assert [p.name for p in recording.space.parameters] == ["block", "tile", "padding"]
    assert recording.space.parameters[0].values == (32, 64, 128, 256)
    assert len(recording.space) == len(recording.outcomes) == 24
    assert recording.optimum == pytest.approx(1.0)
    best = recording.evaluation(int(recording.scores.argmin()))
    assert best.configuration == OPTIMUM
    assert best.seconds == pytest.approx(1.5), "compile + verification + benchmark"
    assert recording.space.default == Configuration.of({"block": 64, "tile": 2, "padding": 0}), "nearest to the middle"
    assert recording.evaluations == tuple(recording.evaluation(n) for n in range(24))


def test_scores_compare_as_the_times_do(write_cache: WriteCache):
    recording = load_recording(write_cache(result=lambda block, tile, padding: 10.0 * tile))
    scores = {tile: outcome_of(recording, block=32, tile=tile, padding=0).score for tile in (1, 2, 3)}
    assert scores[2] / scores[1] == pytest.approx(2)
    assert scores[3] / scores[1] == pytest.approx(3)


@pytest.mark.parametrize(
    ("found", "kind"),
    [
        ("CompilationFailedConfig", CompileFailed),
        ("RuntimeFailedConfig", LaunchFailed),
        ("ErrorConfig", LaunchFailed),
        ("something else", LaunchFailed),
        ({"__error__": "CompilationFailedConfig"}, CompileFailed),
        ({"__error__": "RuntimeFailedConfig", "time": 3.0}, LaunchFailed),
        ({"GFLOP/s": "CompilationFailedConfig"}, CompileFailed),
        (1e20, LaunchFailed),
        (math.inf, LaunchFailed),
        (math.nan, LaunchFailed),
        (None, LaunchFailed),
        ({}, LaunchFailed),
        (0.0, LaunchFailed),
        (-1.0, LaunchFailed),
    ],
)
def test_failures_in_every_spelling(write_cache: WriteCache, found: Any, kind: type):
    recording = load_recording(write_cache(result=lambda block, tile, padding: found if tile == 3 else 2.0))
    assert recording.failures == 8
    failed = outcome_of(recording, block=64, tile=3, padding=1)
    assert isinstance(failed, kind)
    assert "recorded as" in failed.reason
    assert isinstance(outcome_of(recording, block=64, tile=2, padding=1), Measured)


def test_times_may_be_whole_numbers_or_text(write_cache: WriteCache):
    recording = load_recording(write_cache(result=lambda block, tile, padding: "2.5" if tile == 1 else 5))
    assert recording.failures == 0
    assert recording.optimum == pytest.approx(2.5)


@pytest.mark.parametrize("field", ["time", "times"])
def test_repetitions_stand_for_their_mean(write_cache: WriteCache, field: str):
    recording = load_recording(
        write_cache(result=lambda block, tile, padding: {field: [2.0, "CompilationFailedConfig"] if tile == 1 else [2.0, 4.0]})
    )
    assert recording.failures == len(recording.space) / 3
    assert recording.optimum == pytest.approx(3.0)


def test_configurations_outside_the_restrictions_are_left_out_and_counted(write_cache: WriteCache):
    cache = write_cache(result=lambda block, tile, padding: "InvalidConfig" if block == 256 else 1.0)
    recording = load_recording(cache)
    assert len(recording.space) == 18
    assert recording.left_out == 6
    assert recording.failures == 0
    assert Configuration.of({"block": 256, "tile": 1, "padding": 0}) not in recording.space


@pytest.mark.parametrize(
    ("ending", "entries", "cut"),
    [
        ("", 24, False),
        (",", 24, False),
        (",\n", 24, False),
        ("}", 24, False),
        (',\n"512,1,0": {"block": 512, "ti', 24, True),
        (',\n"512,1,0"', 24, True),
    ],
)
def test_a_killed_run_leaves_the_file_open(write_cache: WriteCache, ending: str, entries: int, cut: bool):
    recording = load_recording(write_cache(ending=ending))
    assert len(recording.space) == entries
    assert f"{entries} whole entries" in recording.notes[0]
    assert ("cut off" in recording.notes[0]) == cut


def test_any_truncation_gives_the_entries_before_it_or_a_clear_error(write_cache: WriteCache):
    path = write_cache()
    text = path.read_text()
    whole = load_recording(path)
    sizes = []
    for end in (*range(1, len(text) - 3, 7), len(text) - 3):
        path.write_text(text[:end])
        if '"32,1,1"' not in text[:end]:  # the first entry may not be whole
            with contextlib.suppress(InputError):
                load_recording(path)
            continue
        recording = load_recording(path)
        sizes.append(len(recording.space))
        for evaluation in recording.evaluations:
            number = whole.space.index(evaluation.configuration)
            assert number is not None
            assert evaluation.outcome == whole.outcomes[number]
    assert sizes == sorted(sizes)
    assert sizes[-1] == 24


def test_values_are_numbers_text_and_booleans_however_written(write_cache: WriteCache):
    parameters = {"a": [1, 2.5, 4], "b": ["fast", "slow"], "c": ["True", "False"], "d": [True, False]}
    recording = load_recording(write_cache(parameters=parameters, result=lambda a, b, c, d: float(a)))
    values = {p.name: p.values for p in recording.space.parameters}
    assert values == {"a": (1, 2.5, 4), "b": ("fast", "slow"), "c": (True, False), "d": (True, False)}
    assert len(recording.space) == 24
    assert Configuration.of({"a": 2.5, "b": "slow", "c": False, "d": True}) in recording.space


def test_entries_may_spell_values_otherwise_than_the_header(write_cache: WriteCache):
    header = {"tune_params": {"block": [32, 64], "use": [0, 1]}}
    parameters = {"block": ["32", "64"], "use": [True, False]}
    recording = load_recording(write_cache(parameters=parameters, header=header, result=lambda block, use: float(block)))
    assert recording.space.parameters[0].values == (32, 64)
    assert recording.space.parameters[1].values == (0, 1)
    assert len(recording.space) == 4


def test_values_that_the_header_lacks_come_after_its_own(write_cache: WriteCache):
    header = {"tune_params": {"block": [128, 64], "tile": [3], "padding": [0, 1]}}
    recording = load_recording(write_cache(header=header))
    assert recording.space.parameters[0].values == (128, 64, 32, 256)
    assert recording.space.parameters[1].values == (3, 1, 2)
    assert len(recording.space) == 24


def test_old_headers_without_value_lists(write_cache: WriteCache):
    path = write_cache()
    document = json.loads(path.read_text())
    del document["tune_params"]
    path.write_text(json.dumps(document))
    assert load_recording(path).space.parameters[0].values == (32, 64, 128, 256)


@pytest.mark.parametrize("objective", ["GFLOP/s", ["GFLOP/s"]])
def test_higher_is_better_for_rates(write_cache: WriteCache, objective: Any):
    recording = load_recording(
        write_cache(
            header={"objective": objective}, result=lambda block, tile, padding: {"time": 1.0, "GFLOP/s": float(block * tile)}
        )
    )
    assert recording.objective.name == "GFLOP/s"
    assert recording.objective.higher_is_better
    assert recording.optimum == pytest.approx(768)
    best = recording.evaluation(int(recording.scores.argmin())).configuration
    assert (best["block"], best["tile"]) == (256, 3)


def test_the_header_may_say_the_direction(write_cache: WriteCache):
    def result(block: int, tile: int, padding: int) -> dict[str, float]:
        return {"time": 1.0, "quality": float(tile)}

    with pytest.raises(InputError, match="better or worse"):
        load_recording(write_cache(header={"objective": "quality"}, result=result))
    header = {"objective": "quality", "objective_higher_is_better": True}
    assert load_recording(write_cache(header=header, result=result)).optimum == pytest.approx(3)


def test_an_objective_that_was_not_stored_falls_back_on_the_time(write_cache: WriteCache):
    recording = load_recording(write_cache(header={"objective": "GFLOP/s"}))
    assert recording.objective.name == "time"
    assert recording.optimum == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (lambda **_: "CompilationFailedConfig", "none of them measured"),
        (lambda **_: "InvalidConfig", "no configurations"),
        (lambda **_: {"time": 1.0, "tile": [1, 2]}, "tile of entry '32,1,0' is [1, 2]"),
        (lambda **_: {"time": 1.0, "tile": None}, "tile of entry '32,1,0' is None"),
    ],
)
def test_nothing_to_search_is_said_so(write_cache: WriteCache, result: Any, words: str):
    with pytest.raises(InputError) as caught:
        load_recording(write_cache(result=result))
    assert words in str(caught.value)
    assert "small.json" in str(caught.value)
    assert "hint:" in str(caught.value)


@pytest.mark.parametrize(
    "document", [{"cache": []}, {"cache": {"1": 2}}, {"cache": {}}, {"cache": {}, "tune_params_keys": ["a"]}]
)
def test_what_is_no_cache_inside(tmp_path: Path, document: dict[str, Any]):
    path = tmp_path / "odd.json"
    path.write_text(json.dumps(document))
    with pytest.raises(InputError, match=r"odd\.json"):
        load_recording(path)


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ({"tune_params_keys": ["block", "block", "tile", "padding"]}, "names 'block' twice"),
        ({"tune_params": {"block": 5, "tile": [1, 2, 3], "padding": [0, 1]}}, "has 5 for block"),
    ],
)
def test_a_malformed_header_is_refused(write_cache: WriteCache, header: dict[str, Any], said: str):
    with pytest.raises(InputError, match=said):
        load_recording(write_cache(header=header))


def test_a_time_beyond_all_numbers_is_refused_with_its_entry(write_cache: WriteCache):
    def huge(block: int, tile: int, padding: int) -> dict[str, Any]:
        return {"time": 1.0, "compile_time": 10**400 if (block, tile, padding) == (64, 1, 0) else 1.0}

    with pytest.raises(InputError, match="compile_time of entry '64,1,0' is not a time"):
        load_recording(write_cache(result=huge))


@pytest.mark.parametrize("names", [5, True, 1.5, {"a": 1}, "block"])
def test_names_that_are_no_list(tmp_path: Path, names: Any):
    path = tmp_path / "cache.json"
    path.write_text(json.dumps({"tune_params_keys": names, "cache": {"1": {"block": 1, "time": 1.0}}}))
    with pytest.raises(InputError):
        load_recording(path)


def test_numbers_too_large_for_a_float_are_values(tmp_path: Path):
    path = tmp_path / "cache.json"
    entries = {str(block): {"block": block, "time": 1.0} for block in (10**400, 2, 0.5)}
    path.write_text(json.dumps({"tune_params_keys": ["block"], "tune_params": {}, "cache": entries}))
    assert load_recording(path).space.parameters[0].values == (0.5, 2, 10**400)
