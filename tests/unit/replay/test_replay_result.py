"""The figures of a replay: fractions, their means and intervals, curves that stay at their end."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from warpsmith.record.foreign import Recording, load_recording
from warpsmith.replay.output import write_result
from warpsmith.replay.plan import ReplayPlan, ReplayTrial
from warpsmith.replay.result import ReplayResult, collect, interval_over_seeds, mean_over_seeds
from warpsmith.replay.trial import Trace

WriteCache = Callable[..., Path]


@pytest.fixture
def recording(write_cache: WriteCache) -> Recording:
    """Times 4, 2, 1 (twice each in the order of numbers), and a failure first and last."""
    times = {1: "CompilationFailedConfig", 2: 4.0, 3: 2.0, 4: 1.0, 5: "RuntimeFailedConfig"}
    return load_recording(write_cache(parameters={"p": list(times)}, result=lambda p: times[p]))


def result_of(recording: Recording, *traces: Sequence[int], evaluations: int = 4) -> ReplayResult:
    plan = ReplayPlan({recording.name: recording.file}, ("s",), len(traces), evaluations, None)
    by_trial = {ReplayTrial(recording.name, "s", seed): Trace(tuple(numbers), 0.2) for seed, numbers in enumerate(traces)}
    return collect(plan, {recording.name: recording}, by_trial)


def test_the_fraction_is_optimum_over_best_so_far(recording: Recording):
    (cell,) = result_of(recording, (0, 1, 2, 3)).cells
    assert cell.fraction[0].tolist() == [0.0, 0.25, 0.5, 1.0], "0 before anything valid"
    assert cell.seconds[0] == pytest.approx([1.5, 3.0, 4.5, 6.0])


def test_it_never_falls(recording: Recording):
    (cell,) = result_of(recording, (2, 1, 4, 0)).cells
    assert cell.fraction[0].tolist() == [0.5, 0.5, 0.5, 0.5]


def test_where_the_space_ends_the_curve_stays(recording: Recording):
    result = result_of(recording, (0, 1), (1, 3), evaluations=5)
    assert result.cells[0].fraction.tolist() == [[0, 0.25, 0.25, 0.25, 0.25], [0.25, 1, 1, 1, 1]]
    assert result.cells[0].seconds[0] == pytest.approx([1.5, 3, 3, 3, 3])


def test_higher_is_better_has_the_same_measure(write_cache: WriteCache):
    header = {"objective": "GB/s"}
    recording = load_recording(
        write_cache(header=header, parameters={"p": [1, 2, 4]}, result=lambda p: {"time": 1.0, "GB/s": 10.0 * p})
    )
    assert result_of(recording, (0, 1, 2), evaluations=3).cells[0].fraction[0] == pytest.approx([0.25, 0.5, 1.0])


@pytest.mark.parametrize(
    ("evaluations", "keys"),
    [(10, [10]), (25, [25]), (60, [25, 50, 60]), (200, [25, 50, 100, 200]), (300, [25, 50, 100, 200, 300])],
)
def test_checkpoints_up_to_the_budget_and_the_budget(recording: Recording, evaluations: int, keys: list[int]):
    assert list(result_of(recording, (3,), evaluations=evaluations).checkpoints) == keys


def test_the_object_of_json(recording: Recording):
    found = json.loads(json.dumps(result_of(recording, (1, 2), (3, 2), evaluations=2).as_dict()))
    (space,) = found["spaces"]
    assert space["space"] == "small"
    assert space["strategy"] == "s"
    assert space["seeds"] == 2
    assert space["fraction"] == {"2": 0.75}
    low, high = space["interval"]["2"]
    assert 0.5 <= low < 0.75 < high <= 1.0
    assert space["overhead_ms"] == pytest.approx(100.0)
    assert found["recordings"][0]["failed"] == 2
    assert found["average"][0]["fraction"] == space["fraction"]


def test_one_seed_has_no_interval(recording: Recording):
    assert result_of(recording, (1, 2)).as_dict()["spaces"][0]["interval"] == {"4": None}


def test_the_average_weighs_spaces_equally_and_pairs_seeds(recording: Recording, write_cache: WriteCache):
    other = load_recording(write_cache("other.json", parameters={"p": [1, 2]}, result=lambda p: 1.0 * p))
    plan = ReplayPlan({"small": recording.file, "other": other.file}, ("s",), 2, 1, None)
    traces = {("small", 0): (3,), ("small", 1): (1,), ("other", 0): (1,), ("other", 1): (0,)}
    result = collect(
        plan,
        {"small": recording, "other": other},
        {ReplayTrial(space, "s", seed): Trace(n, 0.0) for (space, seed), n in traces.items()},
    )
    assert result.by_seed(None, "s").tolist() == [[0.75], [0.625]]
    assert result.at(None, "s", 1).mean == pytest.approx(0.6875)


def test_the_bootstrap_covers_the_mean_about_as_often_as_it_says():
    rng = np.random.default_rng(1)
    samples = rng.normal(0.9, 0.02, size=(400, 20))
    figures = [mean_over_seeds(row) for row in samples]
    covered = sum(f.interval is not None and f.interval[0] <= 0.9 <= f.interval[1] for f in figures)
    assert 0.88 < covered / len(figures) < 0.98


def test_intervals_are_repeatable_and_by_column():
    values = np.random.default_rng(2).random((8, 3))
    first, again = interval_over_seeds(values), interval_over_seeds(values)
    assert first is not None
    assert again is not None
    assert np.array_equal(first, again)
    alone = interval_over_seeds(values[:, 1:2])
    assert alone is not None
    assert alone[0][0] == pytest.approx(first[0][1])
    assert interval_over_seeds(values[:1]) is None


def test_files_have_every_evaluation_and_the_same_summary(recording: Recording, tmp_path: Path):
    result = result_of(recording, (0, 1), (3, 2))
    write_result(result, tmp_path / "out" / "deep")
    folder = tmp_path / "out" / "deep"
    assert json.loads((folder / "summary.json").read_text()) == json.loads(json.dumps(result.as_dict()))
    with (folder / "trials.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(r["seed"], r["evaluation"], r["outcome"]) for r in rows] == [
        ("0", "1", "CompileFailed"),
        ("0", "2", "Measured"),
        ("1", "1", "Measured"),
        ("1", "2", "Measured"),
    ]
    assert [float(r["fraction"]) for r in rows] == [0.0, 0.25, 1.0, 1.0]
    for name in ("by-evaluations", "by-time"):
        assert (folder / f"{name}.svg").read_text().lstrip().startswith("<?xml")
        assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_without_recorded_costs_there_is_no_plot_over_time(write_cache: WriteCache, tmp_path: Path):
    free = {"compile_time": 0, "verification_time": None, "benchmark_time": 0}
    recording = load_recording(write_cache(parameters={"p": [1, 2]}, result=lambda p: {"time": float(p), **free}))
    write_result(result_of(recording, (0, 1), evaluations=2), tmp_path / "out")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "trials.csv",
        "summary.json",
        "by-evaluations.svg",
        "by-evaluations.png",
    }
