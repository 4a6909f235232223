"""A covering sample shows values and pairs sooner than chance does, and keeps to the feasible configurations."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from warpsmith.core.expression import Expression
from warpsmith.core.hardware import Limits
from warpsmith.space import Space
from warpsmith.space.covering import covering_sample
from warpsmith.spec.kernel import Constraint, Launch, Parameter, Workload

ONE = Expression.parse(1)


def space(*parameters: Parameter, constraint: str = "1 == 1") -> Space:
    launch = Launch((ONE,), (ONE,), Expression.parse(0))
    limits = Limits(1024, 1024, 1024, 64, 49152, 32, 2)
    rules = (Constraint(Expression.parse(constraint), "as the test wants it"),)
    return Space.build(parameters, rules, launch, (Workload("w", {}),), limits)


FOURS = space(*(Parameter(name, (1, 2, 4, 8), 1) for name in "ABCDEF"))


def pairs(sample) -> int:
    return len({pair for configuration in sample for pair in combinations(configuration.items(), 2)})


def test_every_value_occurs_in_little_more_configurations_than_a_parameter_has_values():
    sample = covering_sample(FOURS, 6, np.random.default_rng(0))
    assert {(name, value) for configuration in sample for name, value in configuration.items()} == {
        (parameter.name, value) for parameter in FOURS.parameters for value in parameter.values
    }


def test_more_pairs_occur_than_by_chance():
    sample = covering_sample(FOURS, 24, np.random.default_rng(0))
    drawn = [FOURS[number] for number in FOURS.sample(24, np.random.default_rng(0))]
    assert len(sample) == len(set(sample)) == 24
    assert pairs(sample) > 1.1 * pairs(drawn)


def test_only_feasible_configurations_and_no_more_than_there_are():
    small = space(Parameter("A", (1, 2, 3), 1), Parameter("B", (1, 2), 1), constraint="A >= B")
    sample = covering_sample(small, 50, np.random.default_rng(0))
    assert sorted(map(str, sample)) == sorted(map(str, small))


def test_same_seed_same_sample():
    first, second = (covering_sample(FOURS, 10, np.random.default_rng(7)) for _ in range(2))
    assert first == second


def test_a_space_without_parameters_has_its_one_configuration():
    assert len(covering_sample(space(), 5, np.random.default_rng(0))) == 1
