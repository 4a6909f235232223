"""The strategies that come with Warpsmith keep to the protocol; local search finds good configurations sooner than chance."""

from __future__ import annotations

import numpy as np
import pytest

from warpsmith.core.errors import InputError
from warpsmith.core.outcome import Evaluation
from warpsmith.search.exhaustive import Exhaustive
from warpsmith.search.local import Local
from warpsmith.search.random import Random
from warpsmith.search.registry import load_strategy
from warpsmith.testing.strategies import StrategyConformance, measured, small_space


class TestExhaustive(StrategyConformance):
    def make(self, space, rng):
        return Exhaustive(space, rng)

    def test_the_order_is_the_spaces(self):
        space = small_space()
        rest = Exhaustive(space, np.random.default_rng(0)).ask(1000)[1:]
        assert rest == [configuration for configuration in space if configuration != space.default]


class TestRandom(StrategyConformance):
    def make(self, space, rng):
        return Random(space, rng)

    def test_another_seed_gives_another_order(self):
        space = small_space()
        assert self.run(space, lambda _: measured(1.0), seed=1) != self.run(space, lambda _: measured(1.0), seed=2)


class TestLocal(StrategyConformance):
    def make(self, space, rng):
        return Local(space, rng)

    def test_it_descends(self):
        """On a smooth valley the optimum is found within a fraction of the space, for every seed."""
        space = small_space(constrained=False)

        def cost(configuration):
            where = space.encode(configuration)
            return 1.0 + float(np.abs(where - np.array([0, 3, 2])).sum())

        best = min(space, key=cost)
        for seed in range(10):
            asked = self.run(space, lambda c: measured(cost(c)), seed=seed)
            assert asked.index(best) < len(space) / 2

    def test_it_beats_random_on_average(self):
        space = small_space()

        def cost(configuration):
            where = space.encode(configuration)
            return 1.0 + float((np.abs(where - np.array([1, 2, 1])) ** 2).sum())

        best = min(space, key=cost)
        found = {
            kind: np.mean([_steps_to(kind(space, np.random.default_rng(seed)), cost, best) for seed in range(20)])
            for kind in (Local, Random)
        }
        assert found[Local] < 0.75 * found[Random]


def _steps_to(strategy, cost, best):
    steps = 0
    while True:
        (configuration,) = strategy.ask()
        steps += 1
        if configuration == best:
            return steps
        strategy.tell(Evaluation(configuration, measured(cost(configuration))))


def test_strategies_are_found_by_name():
    found = {name: load_strategy(name) for name in ("exhaustive", "random", "local")}
    assert found == {"exhaustive": Exhaustive, "random": Random, "local": Local}


def test_an_unknown_strategy_is_answered_with_the_list():
    with pytest.raises(InputError, match=r"exhaustive, genetic, gp, local, .*random") as caught:
        load_strategy("lokal")
    assert "local" in caught.value.hint
