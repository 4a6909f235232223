"""The intervals must hold what they promise under the noise that the CPU device really has."""

from __future__ import annotations

import math

import numpy as np
import pytest

from warpsmith.measure.statistics import Ratio, paired_ratio, ratio_over_processes, weighted_mean, weighted_ratio


def _autocorrelated(rng: np.random.Generator, n: int, spread: float, correlation: float = 0.7) -> np.ndarray:
    noise = np.empty(n)
    noise[0] = rng.normal(0, spread)
    for i in range(1, n):
        noise[i] = correlation * noise[i - 1] + rng.normal(0, spread * math.sqrt(1 - correlation**2))
    return noise


def test_pairing_cancels_what_both_share():
    rng = np.random.default_rng(1)
    mood = np.exp(_autocorrelated(rng, 40, 0.5))
    ratio = paired_ratio(2.0 * mood * np.exp(rng.normal(0, 0.02, 40)), mood, rng)
    assert ratio.value == pytest.approx(2.0, rel=0.02)
    assert ratio.half_width < 0.05


def test_one_pair_promises_nothing():
    ratio = paired_ratio([3.0], [1.0], np.random.default_rng(0))
    assert ratio.value == pytest.approx(3.0)
    assert ratio.low == 0.0
    assert math.isinf(ratio.high)
    assert math.isinf(ratio.half_width)


def test_an_outlier_does_not_move_the_ratio():
    times = np.full(21, 100.0)
    disturbed = times.copy()
    disturbed[3] = 5000.0
    assert paired_ratio(disturbed, times, np.random.default_rng(0)).value == pytest.approx(1.0)


def test_intervals_over_processes_cover_the_truth():
    """True speedup 1.5; processes differ by 4 %, pairs by 8 % with autocorrelation: at least 93 of 100 intervals cover it."""
    rng = np.random.default_rng(7)
    covered = 0
    trials = 200
    for _ in range(trials):
        processes = [{"w": math.log(1.5) + rng.normal(0, 0.04) + _autocorrelated(rng, 12, 0.08)} for _ in range(5)]
        ratio = ratio_over_processes(processes, {"w": 1.0}, rng, resamples=400)
        covered += ratio.low <= 1.5 <= ratio.high
    assert covered / trials >= 0.93


def test_interval_is_narrow_when_processes_agree():
    rng = np.random.default_rng(3)
    processes = [{"w": math.log(2.0) + rng.normal(0, 0.01, 15)} for _ in range(5)]
    ratio = ratio_over_processes(processes, {"w": 1.0}, rng)
    assert ratio.value == pytest.approx(2.0, rel=0.02)
    assert ratio.half_width < 0.03


def test_one_process_gives_no_interval():
    ratio = ratio_over_processes([{"w": np.log(np.full(9, 2.0))}], {"w": 1.0}, np.random.default_rng(0))
    assert ratio.value == pytest.approx(2.0)
    assert math.isinf(ratio.high)


def test_weights_count():
    assert weighted_mean({"a": 4.0, "b": 1.0}, {"a": 1.0, "b": 1.0}) == pytest.approx(2.0)
    assert weighted_mean({"a": 4.0, "b": 1.0}, {"a": 1.0, "b": 3.0}) == pytest.approx(2**0.5)


def test_inverse_turns_the_interval_round():
    ratio = paired_ratio([2.0, 2.1, 1.9], [1.0, 1.0, 1.0], np.random.default_rng(0))
    assert ratio.inverse.value == pytest.approx(1 / ratio.value)
    assert ratio.inverse.low <= ratio.inverse.value <= ratio.inverse.high


def test_errors_of_ratios_measured_apart_add_up_as_independent_ones_do():
    product = Ratio(0.5, 0.5 / 1.03, 0.5 * 1.03).times(Ratio(0.8, 0.8 / 1.04, 0.8 * 1.04))
    assert product.value == pytest.approx(0.4)
    assert product.half_width == pytest.approx(math.hypot(math.log(1.03), math.log(1.04)))
    assert Ratio(0.5, 0.4, 0.6).times(Ratio(1.0, 1.0, 1.0)) == Ratio(0.5, pytest.approx(0.4), pytest.approx(0.6))
    assert Ratio(2.0, 0.0, math.inf).times(Ratio(1.0, 0.9, 1.1)).high == math.inf


def test_a_weighted_ratio_is_surer_than_its_parts():
    parts = {"a": Ratio(0.5, 0.45, 0.55), "b": Ratio(0.5, 0.45, 0.55)}
    whole = weighted_ratio(parts, {"a": 1.0, "b": 1.0})
    assert whole.value == pytest.approx(0.5)
    assert whole.half_width == pytest.approx(parts["a"].half_width / math.sqrt(2), rel=0.02)
    assert weighted_ratio(parts, {"a": 1.0}) == Ratio(0.5, pytest.approx(0.45), pytest.approx(0.55))
