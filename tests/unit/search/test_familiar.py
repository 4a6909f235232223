"""Genetic, differential evolution and annealing keep to the protocol, are what they say, and beat chance."""

from __future__ import annotations

from statistics import mean

import numpy as np
import pytest

from warpsmith.core.outcome import CompileFailed, Evaluation
from warpsmith.search.annealing import Annealing
from warpsmith.search.differential_evolution import DifferentialEvolution
from warpsmith.search.genetic import Genetic
from warpsmith.search.random import Random
from warpsmith.search.registry import load_strategy
from warpsmith.spec.kernel import Parameter
from warpsmith.testing.strategies import StrategyConformance, measured, plain_space

FAMILIAR = {"genetic": Genetic, "differential-evolution": DifferentialEvolution, "annealing": Annealing}


class TestGenetic(StrategyConformance):
    def make(self, space, rng):
        return Genetic(space, rng)


class TestDifferentialEvolution(StrategyConformance):
    def make(self, space, rng):
        return DifferentialEvolution(space, rng)


class TestAnnealing(StrategyConformance):
    def make(self, space, rng):
        return Annealing(space, rng)


@pytest.mark.parametrize(("name", "kind"), FAMILIAR.items())
def test_they_are_found_by_name(name, kind):
    assert load_strategy(name) is kind


def rugged_space():
    """1,280 combinations, some of them forbidden; two parameters without order."""
    return plain_space(
        Parameter("A", (16, 32, 64, 128, 256), 16),
        Parameter("B", (1, 2, 4, 8), 1),
        Parameter("C", (1, 2, 3, 4, 5, 6, 7, 8), 1),
        Parameter("LAYOUT", ("row", "column", "tiled", "swizzled"), "row"),
        Parameter("CACHE", (False, True), False),
        constraints=("A * B <= 1024", "LAYOUT != 'tiled' or C % 2 == 0"),
    )


def rugged(space, configuration):
    """A valley with an interaction, a text parameter that matters, and a corner that fails."""
    a, b, c, layout, cache = space.encode(configuration)
    if a == 4 and cache:
        return CompileFailed("too many registers")
    return measured(1.0 + (a - 2) ** 2 + abs(int(a) + int(b) - 4) + 0.3 * abs(c - 5) + 2 * (layout != 2) + 0.5 * (not cache))


def best_after(kind, evaluations, seed):
    space = rugged_space()
    strategy = kind(space, np.random.default_rng(seed))
    scores = []
    for _ in range(evaluations):
        (configuration,) = strategy.ask()
        evaluation = Evaluation(configuration, rugged(space, configuration))
        strategy.tell(evaluation)
        scores.append(np.inf if evaluation.score is None else evaluation.score)
    return min(scores)


@pytest.mark.parametrize("kind", FAMILIAR.values())
def test_they_beat_chance(kind):
    ours, chance = (mean(best_after(each, 80, seed) for seed in range(12)) for each in (kind, Random))
    assert ours - 1 < 0.6 * (chance - 1), f"{ours} after 80 evaluations; random reaches {chance}; the best is 1"


def told(strategy, space, scores):
    for number, score in scores.items():
        strategy.tell(Evaluation(space[number], measured(score)))


def test_a_genetic_population_is_the_best_that_was_told():
    space = rugged_space()
    strategy = Genetic(space, np.random.default_rng(0))
    told(strategy, space, {number: 1.0 + abs(number - 100) for number in range(200)})
    assert {number for _, number in strategy._population} <= set(range(89, 112))
    strategy.tell(Evaluation(space[100], CompileFailed("on a second try")))
    assert 100 not in {number for _, number in strategy._population}


def test_a_challenger_takes_the_place_it_challenged_and_no_other():
    space = rugged_space()
    strategy = DifferentialEvolution(space, np.random.default_rng(0))
    for _ in range(16):
        (configuration,) = strategy.ask()
        strategy.tell(Evaluation(configuration, measured(10.0)))
    before = list(strategy._members)
    (configuration,) = strategy.ask()
    place = strategy._challenges[space.index(configuration)]
    strategy.tell(Evaluation(configuration, measured(5.0)))
    assert strategy._members[place] == space.index(configuration)
    assert [m for i, m in enumerate(strategy._members) if i != place] == [m for i, m in enumerate(before) if i != place]


def test_the_walk_goes_uphill_when_hot_and_not_when_cold():
    space = rugged_space()
    taken = {}
    for age in (0, 59):
        count = 0
        for seed in range(200):
            strategy = Annealing(space, np.random.default_rng(seed))
            strategy._scouted, strategy._age = 10, age
            told(strategy, space, {0: 1.0, 1: 1.05})
            count += strategy._current == 1
        taken[age] = count
    assert taken[0] > 100
    assert taken[59] == 0
