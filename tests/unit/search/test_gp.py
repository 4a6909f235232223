"""The Gaussian-process strategy keeps to the protocol, its mathematics is right, and it needs few evaluations."""

from __future__ import annotations

from math import inf
from statistics import mean

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from warpsmith.core.configuration import Configuration
from warpsmith.core.outcome import ArgumentCheck, CompileFailed, Evaluation, Measured, Verdict, WorkloadTime
from warpsmith.search.base import Learner, Prior
from warpsmith.search.gp import GaussianProcess
from warpsmith.search.gp.candidates import _jumps, all_of, sampled_from
from warpsmith.search.gp.columns import Columns
from warpsmith.search.gp.encoding import distances, handicaps
from warpsmith.search.gp.feasibility import Feasibility
from warpsmith.search.gp.forecasts import Forecasts
from warpsmith.search.gp.hyper import Fit, Hyper, Pairs, Weight
from warpsmith.search.gp.kernel import covariance, matern
from warpsmith.search.gp.model import Model, Predictions
from warpsmith.search.gp.observations import Observation, Observations
from warpsmith.search.gp.posterior import Posterior
from warpsmith.search.gp.strategy import _promise, _variance
from warpsmith.search.gp.targets import modelled
from warpsmith.search.random import Random
from warpsmith.search.registry import DEFAULT_STRATEGY, load_strategy
from warpsmith.spec.kernel import Parameter
from warpsmith.testing.strategies import StrategyConformance, large_space, measured, plain_space, small_space


class TestGaussianProcess(StrategyConformance):
    def make(self, space, rng):
        return GaussianProcess(space, rng)


def test_it_is_the_default():
    assert load_strategy(DEFAULT_STRATEGY) is GaussianProcess


# ── how far values are apart ──


def test_sizes_act_by_ratio_and_alignment_counts():
    table = distances((16, 32, 48, 64, 256))
    assert np.all(np.diag(table) == 0)
    assert np.array_equal(table, table.T)
    assert table[1, 3] < table[0, 3] < table[0, 4]
    assert table[3, 4] < table[2, 4], "64 and 256 are aligned, 48 is not"
    assert table[1, 3] < table[1, 2] + table[2, 3]


@pytest.mark.parametrize("values", [(False, True), ("row", "column", "tiled"), (1, "auto", 4), (0, 7)])
def test_values_without_an_order_are_equally_far_apart(values):
    assert np.array_equal(distances(values), 1 - np.eye(len(values)))


def test_how_special_a_value_may_be_is_a_matter_of_view():
    values = (16, 32, 48, 64)
    assert distances(values, 0.9) - distances(values, 0.1) == pytest.approx(0.8 * (1 - np.eye(4)))


def test_sizes_that_fill_no_warp_are_expected_to_be_slower():
    expected = dict(zip((1, 2, 7, 16, 40, 48, 64, 96), handicaps((1, 2, 7, 16, 40, 48, 64, 96)), strict=True))
    assert [size for size, slower in expected.items() if slower == 0] == [1, 2, 16, 64, 96]
    assert expected[40] == expected[7] > expected[48] > 0
    for no_sizes in [(0, 3, 5), (3, 5), ("row", "column", "tiled"), (0.5, 3.0, 5.0)]:
        assert not handicaps(no_sizes).any()


def test_what_is_expected_is_tried_first_and_given_up_when_it_is_wrong():
    sizes = Parameter("SIZE", (32, 40, 64, 72, 96, 104, 128, 136, 160, 168, 192, 200), 32)
    space = plain_space(sizes, Parameter("OTHER", ("a", "b", "c", "d", "e", "f", "g", "h"), "a"))

    def asked_for_whole_warps(slow: float) -> list[bool]:
        strategy, whole = GaussianProcess(space, np.random.default_rng(3)), []
        for _ in range(30):
            (configuration,) = strategy.ask(1)
            fills = configuration["SIZE"] % 32 == 0
            whole.append(fills)
            strategy.tell(Evaluation(configuration, measured(score=10.0 + (slow if fills else 0.0))))
        return whole

    assert mean(asked_for_whole_warps(0.0)[8:16]) > 0.7
    assert mean(asked_for_whole_warps(5.0)[16:]) < 0.4


def test_zero_and_negative_numbers_go_by_rank():
    table = distances((-1, 0, 4, 100))
    assert np.all(table[0, 1:] > 0)
    assert table[0, 1] == pytest.approx(table[2, 3])


# ── targets ──


def test_slow_times_are_drawn_together_and_the_order_stays():
    above = np.array([0.0, 0.1, 0.2, 1.0, 5.0])
    targets, variances, _ = modelled(above, np.full(5, 1e-4))
    assert np.all(np.diff(targets) > 0)
    assert targets[1] - targets[0] > 0.1 * (targets[4] - targets[3]) / (5.0 - 1.0)
    assert np.all(np.diff(variances) < 0), "the same noise matters less where times are compressed"
    assert targets.mean() == pytest.approx(0)
    assert targets.std() == pytest.approx(1)


# ── the model ──


def random_points(count, seed=0):
    space = small_space()
    rng = np.random.default_rng(seed)
    numbers = space.sample(count, rng)
    return space, numbers, Columns(space).of(space.encoded(numbers)), rng.normal(size=count)


def a_hyper(space, noise=1e-3):
    return Hyper(np.log([0.5] * len(Columns(space).tables) + [1.3, noise]))


def test_the_gradient_of_the_fit_is_the_slope_of_its_loss():
    space, _, rows, targets = random_points(20)
    tables = Columns(space).tables
    fit = Fit(tables)
    pairs = Pairs(tables, rows, np.linspace(-0.6, 0.6, 40).reshape(20, 2))
    spread = np.full(20, 0.01)
    at = np.array([-0.5, 0.3, -1.0, 0.7, 0.2, -3.0])
    _, gradient = fit._loss(at, pairs, targets, spread)
    for i in range(len(at)):
        step = np.zeros(len(at))
        step[i] = 1e-5
        slope = (fit._loss(at + step, pairs, targets, spread)[0] - fit._loss(at - step, pairs, targets, spread)[0]) / 2e-5
        assert gradient[i] == pytest.approx(slope, rel=1e-4, abs=1e-6)


def test_the_loss_of_the_fit_falls_as_the_density_of_the_results_rises():
    space, _, rows, targets = random_points(20)
    tables = [distances(p.values) for p in space.parameters]
    fit = Fit(tables, Weight(deviation=1e6))
    shared = np.linspace(-0.6, 0.6, 40).reshape(20, 2)
    pairs = Pairs(tables, rows, shared)
    spread = np.full(20, 0.01)

    def density(logs):
        hyper = Hyper(logs)
        weighted = [weight * table for weight, table in zip(hyper.weights, tables, strict=True)]
        matrix = covariance(weighted, hyper.signal, rows, rows) + shared @ shared.T + np.diag(spread + hyper.noise)
        return multivariate_normal(cov=matrix).logpdf(targets)

    here, there = np.array([-0.5, 0.3, -1.0, 0.0, -6.0]), np.array([0.1, -0.4, -2.0, 0.0, -6.0])
    fallen = fit._loss(here, pairs, targets, spread)[0] - fit._loss(there, pairs, targets, spread)[0]
    assert fallen == pytest.approx(density(there) - density(here), rel=1e-6)


def posterior_of(space, hyper, shared=None):
    columns = Columns(space)
    return Posterior(all_of(space, columns), columns.tables, hyper, shared)


def direct(space, numbers, targets, hyper, spread, shared):
    columns = Columns(space)
    tables = [weight * table for weight, table in zip(hyper.weights, columns.tables, strict=True)]

    def between(a, b):
        return hyper.signal * matern(sum(t[np.ix_(a[:, c], b[:, c])] for c, t in enumerate(tables)))

    seen = columns.of(space.rows)
    all_pairs = between(seen, seen) + shared @ shared.T
    across = all_pairs[numbers]
    inverse = np.linalg.inv(across[:, numbers] + np.diag(hyper.noise + spread))
    variance = np.diag(all_pairs) - np.einsum("ij,ik,kj->j", across, inverse, across)
    return across.T @ inverse @ targets, np.sqrt(np.maximum(variance, 0))


def test_predictions_are_those_of_the_textbook_however_points_are_added():
    space, numbers, rows, targets = random_points(25)
    hyper, spread = a_hyper(space, noise=1e-2), np.linspace(0, 0.1, 25)
    shared = np.random.default_rng(1).normal(size=(len(space), 2))
    expected_mean, expected_deviation = direct(space, numbers, targets, hyper, spread, shared)
    for cuts in ([25], [1] * 25, [10, 1, 14]):
        posterior = posterior_of(space, hyper, shared)
        begin = 0
        for count in cuts:
            some = slice(begin, begin + count)
            posterior.add(rows[some], spread[some], shared[numbers[some]])
            begin += count
        found, deviation = posterior.predict(targets)
        assert found == pytest.approx(expected_mean, abs=2e-2)
        assert deviation == pytest.approx(expected_deviation, abs=2e-2)


def test_an_awaited_point_moves_no_prediction_and_takes_away_its_uncertainty():
    space, numbers, rows, targets = random_points(12)
    hyper = a_hyper(space)
    posterior = posterior_of(space, hyper)
    posterior.add(rows[:11], np.zeros(11))
    before, uncertain = posterior.predict(targets[:11])
    posterior.add(rows[11:], np.zeros(1))
    after, certain = posterior.predict(np.array([*targets[:11], np.nan]))
    assert after == pytest.approx(before, abs=1e-4)
    assert certain[numbers[11]] < 0.2 * uncertain[numbers[11]]


def test_a_point_added_twice_does_no_harm():
    space, _, rows, targets = random_points(5)
    posterior = posterior_of(space, a_hyper(space, noise=1e-12))
    posterior.add(rows, np.zeros(5))
    posterior.add(rows, np.zeros(5))
    found, _ = posterior.predict(np.concatenate([targets, targets]))
    assert np.all(np.isfinite(found))


def test_what_it_holds_is_bounded(monkeypatch):
    monkeypatch.setattr("warpsmith.search.gp.model._HELD_AT_MOST", 160)
    monkeypatch.setattr("warpsmith.search.gp.model._FITTED_AT_MOST", 60)
    space = large_space()
    rng = np.random.default_rng(0)
    numbers = space.sample(300, rng)
    columns = Columns(space)
    rows = space.encoded(numbers)
    slower = columns.expected(rows)
    each = zip(numbers, rows, slower, strict=True)
    results = Observations((n, Observation(row, float(row.sum()), expected=float(s))) for n, row, s in each)
    model = Model(columns, Forecasts([]), rng)
    candidates = sampled_from(space, columns, numbers[:3], rng)
    predictions = model.predict(candidates, results, {})
    assert len(model._held) == 160
    truth = candidates.rows.sum(axis=1)
    assert np.corrcoef(truth, predictions.mean)[0, 1] > 0.9


def test_results_keep_their_columns_as_they_grow_and_change():
    row = np.zeros(2, dtype=np.int32)
    results = Observations((n, Observation(row, float(n), variance=2.0 * n, expected=3.0 * n)) for n in range(100, 300))
    assert list(results.logs) == [float(n) for n in results]
    results.add(150, Observation(row, -1.0))
    assert len(results) == 200
    assert (results.logs[50], results.variances[50], results.expected[50]) == (-1.0, 0.0, 0.0)
    assert (results[150].log, results.place(150), results.place(7), 7 in results) == (-1.0, 50, None, False)


def test_what_was_asked_for_is_hidden_among_every_sample_of_the_candidates():
    space = large_space()
    strategy = GaussianProcess(space, np.random.default_rng(0))
    asked = []
    for _ in range(60):
        (configuration,) = strategy.ask(1)
        asked.append(configuration)
        strategy.tell(Evaluation(configuration, measured(1.0 + len(asked) % 7)))
    assert len(set(asked)) == 60


def test_jumps_change_two_or_three_parameters_by_any_value():
    row = np.array([0, 3, 1, 2, 0], dtype=np.int32)
    sizes = (4, 5, 2, 9, 1)
    jumps = _jumps(row, sizes, np.random.default_rng(0))
    changed = np.count_nonzero(jumps != row, axis=1)
    assert set(changed.tolist()) == {0, 1, 2, 3}  # a change may land on the value that was there
    assert [len(np.unique(column)) for column in jumps.T] == list(sizes)
    assert _jumps(row[:1], sizes[:1], np.random.default_rng(0)).max() == 3


def test_failures_lower_the_chance_around_them():
    space = small_space()
    columns = Columns(space)
    candidates = all_of(space, columns)
    feasibility = Feasibility(columns.tables)
    assert feasibility.chance(candidates) == 1.0
    for number in range(len(space)):
        if number % 3 == 0:
            feasibility.add(candidates.rows[number], succeeded=space[number]["BLOCK"] < 256)
    chance = feasibility.chance(candidates)
    bad = np.array([configuration["BLOCK"] >= 256 for configuration in space])
    assert chance[bad].mean() < chance[~bad].mean() - 0.1
    assert chance[~bad].mean() > 0.95
    assert chance.min() > 0


# ── the search ──


def rugged_space():
    return plain_space(
        Parameter("A", (16, 32, 48, 64, 96, 128, 256), 16),
        Parameter("B", (1, 2, 4, 8), 1),
        Parameter("C", (1, 2, 3, 4, 5, 6, 7, 8), 1),
        Parameter("LAYOUT", ("row", "column", "tiled", "swizzled"), "row"),
        Parameter("CACHE", (False, True), False),
        constraints=("A * B <= 1024", "LAYOUT != 'tiled' or C % 2 == 0"),
    )


def rugged(configuration):
    """A valley with an interaction, alignment, a text parameter that matters, and a region that fails."""
    a, b, c = (np.log2(configuration[name]) for name in "ABC")
    if configuration["A"] == 256 and configuration["CACHE"]:
        return CompileFailed("too many registers")
    time = 1 + abs(a + b - 8) + 0.3 * abs(c - 2) + 0.7 * (configuration["A"] % 32 != 0)
    return measured(time + 1.5 * (configuration["LAYOUT"] != "tiled") + 0.5 * (not configuration["CACHE"]))


def curve(strategy, evaluate, count):
    """The best score after each evaluation."""
    scores = []
    for _ in range(count):
        (configuration,) = strategy.ask()
        evaluation = Evaluation(configuration, evaluate(configuration))
        strategy.tell(evaluation)
        scores.append(np.inf if evaluation.score is None else evaluation.score)
    return np.minimum.accumulate(scores)


def test_thirty_evaluations_find_what_chance_does_not():
    ours = [curve(GaussianProcess(rugged_space(), np.random.default_rng(seed)), rugged, 30)[-1] for seed in range(5)]
    chance = [curve(Random(rugged_space(), np.random.default_rng(seed)), rugged, 30)[-1] for seed in range(5)]
    assert mean(ours) < 1.1, ours
    assert mean(chance) > 1.3, chance


def test_two_views_of_the_same_results_take_turns(monkeypatch):
    asked = []

    class Noted(Model):
        def predict(self, candidates, results, outstanding):
            asked.append((self, len(results)))
            return super().predict(candidates, results, outstanding)

    monkeypatch.setattr("warpsmith.search.gp.strategy.Model", Noted)
    curve(GaussianProcess(rugged_space(), np.random.default_rng(0)), lambda _: measured(1.0), 14)
    models = [model for model, _ in asked]
    assert [results for _, results in asked] == list(range(8, 14)), "each sees all results"
    assert models[0] is not models[1]
    assert models == models[:2] * 3


def test_a_batch_looks_at_different_places():
    space = rugged_space()
    strategy = GaussianProcess(space, np.random.default_rng(0))
    curve(strategy, rugged, 12)
    batch = strategy.ask(6)
    assert len(set(batch)) == 6
    rows = np.array([space.encode(configuration) for configuration in batch])
    assert len(np.unique(rows[:, 0])) > 1 or len(np.unique(rows[:, 2])) > 1


def a_prior(evaluate, count=150):
    space = rugged_space()
    numbers = space.sample(count, np.random.default_rng(99))
    return Prior("elsewhere", tuple(Evaluation(space[n], evaluate(space[n])) for n in numbers))


def other_device(configuration):
    outcome = rugged(configuration)
    return outcome if isinstance(outcome, CompileFailed) else measured(7 * outcome.score**1.3)


def misleading(configuration):
    outcome = rugged(configuration)
    return outcome if isinstance(outcome, CompileFailed) else measured(50 / outcome.score)


def warm(prior, seed, count):
    strategy = GaussianProcess(rugged_space(), np.random.default_rng(seed))
    assert isinstance(strategy, Learner)
    strategy.learn(prior)
    return curve(strategy, rugged, count)


def forecasts_from(prior):
    strategy = GaussianProcess(rugged_space(), np.random.default_rng(0))
    strategy.learn(prior)
    return strategy._forecasts


def test_a_forecast_is_the_same_however_it_is_asked_for_and_right_where_the_source_is():
    (forecast,) = forecasts_from(a_prior(other_device))
    space, context = rugged_space(), forecast.context
    columns = Columns(space)
    candidates = all_of(space, columns)
    assert forecast.of_candidates(candidates) == pytest.approx(forecast.of(candidates.rows), abs=1e-3)
    there = forecast.of(context.rows) + columns.expected(context.rows)
    assert np.corrcoef(there, np.log1p(context.above))[0, 1] > 0.98


def test_an_earlier_run_saves_evaluations():
    cold = mean(curve(GaussianProcess(rugged_space(), np.random.default_rng(s)), rugged, 10)[-1] for s in range(5))
    known = mean(warm(a_prior(other_device), s, 10)[-1] for s in range(5))
    assert known < 1.1 < cold, (known, cold)


def shuffled(prior):
    measured_there = [evaluation for evaluation in prior.evaluations if evaluation.score is not None]
    order = np.random.default_rng(5).permutation(len(measured_there))
    pairs = zip(measured_there, order, strict=True)
    return Prior("shuffled", tuple(Evaluation(e.configuration, measured_there[other].outcome) for e, other in pairs))


@pytest.mark.parametrize("prior", [a_prior(misleading), shuffled(a_prior(rugged))], ids=["reversed", "shuffled"])
def test_a_misleading_earlier_run_does_no_lasting_harm(prior):
    """Without any, all seeds are at 1.0 after 30 evaluations."""
    assert mean(warm(prior, seed, 30)[-1] for seed in range(5)) < 1.05


def test_an_earlier_run_that_does_not_predict_itself_is_not_believed():
    assert forecasts_from(a_prior(rugged))
    assert not forecasts_from(shuffled(a_prior(rugged)))
    assert forecasts_from(shuffled(a_prior(rugged, count=30))), "too few to say"


def test_an_earlier_run_may_know_other_parameters_and_values():
    evaluations = tuple(
        Evaluation(Configuration((("A", a), ("OLD", 3), ("LAYOUT", layout))), measured(float(a)))
        for a in (16, 40, 128)
        for layout in ("tiled", "gone")
    )
    strategy = GaussianProcess(rugged_space(), np.random.default_rng(0))
    strategy.learn(Prior("older template", evaluations))
    assert np.isfinite(curve(strategy, rugged, 15)[-1])


def test_nothing_to_learn_is_a_cold_start():
    nothing = Prior("all failed", (Evaluation(rugged_space()[0], CompileFailed("no")),))
    strategies = [GaussianProcess(rugged_space(), np.random.default_rng(3)) for _ in range(2)]
    strategies[1].learn(nothing)
    assert np.array_equal(*(curve(strategy, rugged, 12) for strategy in strategies))


# ── what is worth trying ──


def test_what_was_given_up_after_one_launch_is_known_less_well():
    right = Verdict((ArgumentCheck("w", "out", passed=True, max_error=0.0),))

    def variance(low: float, high: float) -> float:
        return _variance(Measured(right, (WorkloadTime("w", 1.0, 1.0, (low, high), 1),), 1.0))

    assert 0 < variance(0.95, 1.05) < variance(0.8, 1.25) < variance(0.0, inf)


def test_what_differs_from_the_best_by_noise_alone_is_worth_less_than_what_is_not_known():
    mean, deviation = np.array([0.0, 1.5]), np.array([0.05, 1.0])
    exact, noisy = (_promise(Predictions(mean, deviation, 0.0, noise)) for noise in (0.0, 0.05))
    assert noisy[0] < 0.1 * exact[0]
    assert noisy[1] > 0.7 * exact[1]
    assert noisy[1] > noisy[0]
