"""Who goes to the final and who wins it, on made-up times."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from warpsmith.core.configuration import Configuration
from warpsmith.core.outcome import ArgumentCheck, Crashed, Evaluation, Measured, Verdict, WorkloadTime
from warpsmith.tuning.claims.finalists import Shortlist, Winners, certain, choose, shortlist, spread_between_processes
from warpsmith.tuning.claims.interleaved import ProcessMeasurement, Speedups, TimeTable

GOOD = Verdict((ArgumentCheck("w", "out", passed=True, max_error=0.0),))
WEIGHTS = {"a": 1.0, "b": 1.0}


def config(n: int) -> Configuration:
    return Configuration.of({"N": n})


def evaluation(n: int, a: float, b: float) -> Evaluation:
    times = tuple(WorkloadTime(w, 100 * r, r, (r, r), 5) for w, r in (("a", a), ("b", b)))
    return Evaluation(config(n), Measured(GOOD, times, math.sqrt(a * b)))


def tables(relative: dict[int, tuple[float, float]]) -> dict[str, TimeTable]:
    return {
        w: TimeTable(
            {config(n): np.log(np.full(5, r[i])) for n, r in relative.items()},
            {config(n): 100 * r[i] for n, r in relative.items()},
        )
        for i, w in enumerate("ab")
    }


def test_the_shortlist_has_the_best_overall_and_of_each_workload():
    evaluations = [
        evaluation(0, 1.0, 1.0),
        evaluation(1, 0.5, 0.5),
        evaluation(2, 0.3, 2.0),
        evaluation(3, 3.0, 0.2),
        Evaluation(config(4), Crashed("x")),
        evaluation(5, 0.9, 0.9),
    ]
    listed = shortlist(evaluations, ["a", "b"], config(0), general=1, each=1)
    assert listed.general == (config(1),)
    assert listed.per_workload == {"a": (config(2),), "b": (config(3),)}
    assert set(listed.all) == {config(1), config(2), config(3)}


def test_the_same_code_is_listed_once():
    def of(code: str, n: int, time: float) -> Evaluation:
        found = evaluation(n, time, time)
        assert isinstance(found.outcome, Measured)
        return replace(found, outcome=replace(found.outcome, identity=code))

    evaluations = [of("x", 0, 1.0), of("y", 1, 0.5), of("y", 2, 0.5), of("z", 3, 0.6), of("", 4, 0.7), of("", 5, 0.8)]
    assert shortlist(evaluations, ["a"], config(0), general=4).general == (config(1), config(3), config(4), config(5))


def test_general_is_the_best_mean_and_each_workload_has_its_own():
    measured = tables({0: (1.0, 1.0), 1: (0.5, 0.5), 2: (0.3, 2.0), 3: (3.0, 0.2)})
    listed = Shortlist((config(1),), {"a": (config(2),), "b": (config(3),)})
    choice = choose(measured, listed, WEIGHTS, config(0))
    assert choice.general == config(1)
    assert choice.per_workload == {"a": config(2), "b": config(3)}


def test_without_a_gain_the_original_stays():
    measured = tables({0: (1.0, 1.0), 1: (1.1, 1.05)})
    choice = choose(measured, Shortlist((config(1),), {"a": (config(1),), "b": ()}), WEIGHTS, config(0))
    assert choice.general == config(0)
    assert choice.per_workload == {"a": config(0), "b": config(0)}


@pytest.mark.parametrize(
    ("ratios", "stays"),
    [((0.5, 0.52, 0.48, 0.51, 0.5), 1), ((0.98, 1.03, 0.9, 1.01, 0.97), 0), ((1.1, 1.2, 1.1, 1.3, 1.1), 0)],
)
def test_what_is_not_certainly_faster_gives_way_to_the_original(ratios: tuple[float, ...], stays: int):
    processes = [ProcessMeasurement(tables({0: (1.0, 1.0), 1: (r, r), 2: (0.2, 3.0)}), {}, None) for r in ratios]
    chosen = Winners(config(1), {"a": config(2), "b": config(1)})
    found = certain(chosen, Speedups(processes, config(0), np.random.default_rng(0)), WEIGHTS)
    assert found == Winners(config(stays), {"a": config(2), "b": config(stays)})


def test_claims_are_paired_and_the_baseline_claims_nothing():
    processes = [ProcessMeasurement(tables({0: (1.0, 1.0), 1: (r, 0.5)}), {}, None) for r in (0.25, 0.26, 0.24, 0.25, 0.25)]
    speedups = Speedups(processes, config(0), np.random.default_rng(0))
    found = speedups.over({"a": 1.0}, config(1))
    assert found.value == pytest.approx(4.0, rel=0.02)
    assert found.low < 4.0 < found.high
    assert speedups.median_us("a", config(0)) == pytest.approx(100)
    overall = speedups.over(WEIGHTS, config(1))
    assert overall.value == pytest.approx(math.sqrt(8), rel=0.02)
    assert speedups.over(WEIGHTS, config(0)).value == 1.0
    assert spread_between_processes(config(1), processes, {"a": 1.0}) == pytest.approx(0.26 / 0.24)


def test_the_interval_that_decides_is_the_one_reported():
    rng = np.random.default_rng(0)
    for _ in range(40):  # gains at the border of what five processes can show
        figures = np.exp(-0.02 + 0.02 * rng.standard_normal(5))
        processes = [ProcessMeasurement(tables({0: (1.0, 1.0), 1: (r, r)}), {}, None) for r in figures]
        speedups = Speedups(processes, config(0), rng)
        found = certain(Winners(config(1), {"a": config(1)}), speedups, {"a": 2.0})
        assert (found.general == config(1)) == (speedups.over({"a": 2.0}, config(1)).low > 1)
        assert found.per_workload["a"] == found.general
        assert speedups.over({"a": 1.0}, config(1)) == speedups.over({"a": 2.0}, config(1))


@pytest.mark.parametrize(("faster", "own"), [(0.8, 2), (0.99, 1), (1.01, 1), (1.2, 1)])
def test_a_workloads_own_winner_is_certainly_faster_there_than_the_general_one(faster: float, own: int):
    noise = (1.0, 1.03, 0.98, 1.02, 0.97)
    processes = [ProcessMeasurement(tables({0: (1.0, 1.0), 1: (0.5, 0.5), 2: (0.5 * faster * n, 0.5)}), {}, None) for n in noise]
    speedups = Speedups(processes, config(0), np.random.default_rng(0))
    assert certain(Winners(config(1), {"a": config(2)}), speedups, WEIGHTS).per_workload["a"] == config(own)
