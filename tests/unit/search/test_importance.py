"""Known functions are taken apart as they were put together."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from warpsmith.core.configuration import Configuration
from warpsmith.core.outcome import CompileFailed, Crashed, Evaluation
from warpsmith.search.importance import FEWEST, Importance, TooFewResults, importance_of
from warpsmith.space import Space
from warpsmith.spec.kernel import Parameter
from warpsmith.testing.strategies import large_space, measured, plain_space

BLOCK = Parameter("BLOCK", (32, 64, 128, 256, 512, 1024), 256)
VEC = Parameter("VEC", (1, 2, 4, 8), 1)
LAYOUT = Parameter("LAYOUT", ("row", "column", "tiled"), "row")
FAST = Parameter("FAST", (False, True), False)

Log = Callable[[Configuration], float]


def evaluated(space: Space, log: Log, count: int, seed: int = 0) -> list[Evaluation]:
    numbers = space.sample(count, np.random.default_rng(seed))
    return [Evaluation(space[n], measured(float(np.exp(log(space[n]))))) for n in numbers]


def found(space: Space, evaluations: list[Evaluation]) -> Importance:
    answer = importance_of(space, evaluations)
    assert isinstance(answer, Importance)
    return answer


def shares(importance: Importance) -> dict[str, float]:
    return {effect.name: effect.share for effect in importance.parameters}


def pair_shares(importance: Importance) -> dict[frozenset[str], float]:
    return {frozenset((pair.first, pair.second)): pair.share for pair in importance.pairs}


def additive(configuration: Configuration) -> float:
    """Over the whole product, the variance by BLOCK is 0.2² · (6² - 1) / 12, by LAYOUT 0.3² · 2 / 9."""
    return 0.2 * np.log2(float(configuration["BLOCK"])) + 0.3 * (configuration["LAYOUT"] == "tiled")


def test_effects_of_single_parameters():
    space = plain_space(BLOCK, VEC, LAYOUT, FAST)
    importance = found(space, evaluated(space, additive, 60))
    block, layout = 0.04 * 35 / 12, 0.09 * 2 / 9
    assert [effect.name for effect in importance.parameters[:2]] == ["BLOCK", "LAYOUT"]
    assert shares(importance)["BLOCK"] == pytest.approx(block / (block + layout), abs=0.03)
    assert shares(importance)["LAYOUT"] == pytest.approx(layout / (block + layout), abs=0.03)
    assert shares(importance)["VEC"] < 0.01
    assert shares(importance)["FAST"] < 0.01
    assert max(pair_shares(importance).values()) < 0.02
    assert importance.r2 > 0.95

    effect = importance.parameters[0]
    assert (effect.best.value, effect.worst.value) == (32, 1024)
    assert effect.best.slowdown == 1.0
    assert effect.worst.slowdown == pytest.approx(np.exp(1.0), rel=0.1)
    assert [value.value for value in effect.values] == list(BLOCK.values), "in the parameter's own order"
    assert sum(value.measured for value in effect.values) == importance.measured == 60
    assert importance.predicted == len(space)
    assert not importance.sampled


def test_a_pure_interaction():
    space = plain_space(BLOCK, VEC, LAYOUT, FAST)
    importance = found(space, evaluated(space, lambda c: float((c["LAYOUT"] == "row") == c["FAST"]), 70))
    pairs = pair_shares(importance)
    assert pairs.pop(frozenset(("LAYOUT", "FAST"))) > 0.75
    assert max(pairs.values()) < 0.02
    # A third of the layouts behaves unlike the others, so there is a main effect of FAST: (2/3 - 1/3)² / 4 of the variance 1/4.
    assert shares(importance)["FAST"] == pytest.approx(1 / 9, abs=0.04)
    assert max(shares(importance)[name] for name in ("BLOCK", "VEC", "LAYOUT")) < 0.02


def test_it_does_not_matter_where_the_search_looked_most():
    """A search looks where it is fast: 50 of 56 results are the fastest there are."""
    space = plain_space(BLOCK, VEC, LAYOUT, FAST)

    def log(configuration: Configuration) -> float:
        return additive(configuration) - float(configuration["FAST"])

    everything = evaluated(space, log, len(space))
    fast = sorted(everything, key=lambda e: e.score or 0.0)[:50]
    importance = found(space, [*fast, *everything[:6]])
    assert importance.parameters[0].name == "FAST"
    assert importance.parameters[0].best.value is True
    assert importance.parameters[0].worst.slowdown == pytest.approx(np.e, rel=0.25)


def test_failures_and_strangers_are_counted_not_modelled():
    space = plain_space(BLOCK, VEC, LAYOUT, FAST)
    evaluations = evaluated(space, additive, 60)
    plain = found(space, evaluations)
    failures = [
        Evaluation(space[n], CompileFailed("no") if n % 2 else Crashed("signal 11"))
        for n in range(len(space))
        if space[n] not in {e.configuration for e in evaluations}
    ][:20]
    stranger = Evaluation(Configuration.of({"BLOCK": 7}), measured(1e-9))
    mixed = found(space, [*failures, stranger, *evaluations])
    assert (mixed.measured, mixed.failed) == (60, 20)
    assert mixed.parameters == plain.parameters
    assert mixed.pairs == plain.pairs


def test_too_few_results_are_said_to_be():
    space = plain_space(BLOCK, VEC, LAYOUT, FAST)
    evaluations = evaluated(space, additive, FEWEST)
    assert isinstance(importance_of(space, evaluations), Importance)
    failed = Evaluation(evaluations[-1].configuration, Crashed("x"))
    assert importance_of(space, [*evaluations[:-1], failed]) == TooFewResults(FEWEST - 1)
    assert importance_of(plain_space(), []) == TooFewResults(0)


def test_one_parameter_has_all_of_it_and_no_pairs():
    space = plain_space(Parameter("A", tuple(range(1, 31)), 1), Parameter("ONLY", (7,), 7))
    importance = found(space, evaluated(space, lambda c: 0.1 * float(c["A"]), 30))
    assert importance.r2 > 0.8
    assert shares(importance) == {"A": pytest.approx(importance.r2)}, "all that is explained; what cannot change cannot matter"
    assert importance.pairs == ()


def test_nothing_matters_where_all_is_equal():
    space = plain_space(BLOCK, VEC, LAYOUT)
    importance = found(space, evaluated(space, lambda _: 0.0, 40))
    assert set(shares(importance).values()) == {0.0}
    assert set(pair_shares(importance).values()) == {0.0}
    assert importance.spread == pytest.approx(1.0)
    assert importance.r2 == 0.0


def test_noise_alone_is_not_explained():
    space = plain_space(BLOCK, VEC, LAYOUT, FAST)
    noise = np.random.default_rng(3)
    importance = found(space, evaluated(space, lambda _: float(noise.normal()), 100))
    assert importance.r2 < 0.2
    assert max(*shares(importance).values(), *pair_shares(importance).values()) < 0.1


def test_constraints_leave_out_what_cannot_be():
    space = plain_space(BLOCK, VEC, LAYOUT, constraints=("VEC < 8", "BLOCK * VEC <= 1024"))
    importance = found(space, evaluated(space, additive, 40))
    vec = next(effect for effect in importance.parameters if effect.name == "VEC")
    assert [value.value for value in vec.values] == [1, 2, 4]
    assert all(0 <= share <= 1 for share in (*shares(importance).values(), *pair_shares(importance).values()))


def test_a_space_too_large_to_list_is_sampled():
    space = large_space()
    strong, weak = space.parameters[0].name, space.parameters[1].name
    evaluations = evaluated(space, lambda c: 0.5 * float(c[strong]) + 0.1 * float(c[weak]), 120)
    importance = found(space, evaluations)
    assert importance.sampled
    assert importance.predicted == 20_000
    assert [effect.name for effect in importance.parameters[:2]] == [strong, weak]
    assert shares(importance)[strong] > 0.8
    assert max(effect.share for effect in importance.parameters[2:]) < 0.02
    pairs = pair_shares(importance)
    # The constraint bounds the sum of all parameters. So these two are not independent, and their shares do not just add up.
    assert pairs.pop(frozenset((strong, weak))) < 0.05
    assert max(pairs.values()) < 0.01
    assert importance_of(space, evaluations) == importance, "the same evaluations give the same answer"
