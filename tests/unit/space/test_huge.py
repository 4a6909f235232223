"""Spaces that nobody could list: counted, sampled, stepped through."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest

from warpsmith.core.configuration import Configuration
from warpsmith.core.errors import InputError
from warpsmith.core.expression import Expression
from warpsmith.core.hardware import Limits
from warpsmith.space import Space, construction
from warpsmith.spec.kernel import Constraint, Launch, Parameter, Workload

LIMITS = Limits(1024, 1024, 512, 64, 49152, 32, 4)


def build(parameters, texts):
    launch = Launch((Expression.parse(1),), (Expression.parse(1),), Expression.parse(0))
    constraints = tuple(Constraint(Expression.parse(text)) for text in texts)
    return Space.build(tuple(parameters), constraints, launch, (Workload("w", {"n": 54}),), LIMITS)


def digits(count, low=0):
    return [Parameter(f"P{i}", tuple(range(low, low + 10)), low) for i in range(count)]


def sums_up_to(limit, count):
    """How many of `count` digits add up to at most the limit (stars and bars, less those with a digit above nine)."""
    return sum((-1) ** k * comb(count, k) * comb(limit - 10 * k + count, count) for k in range(limit // 10 + 1))


@pytest.mark.parametrize("written", [list(range(12)), list(range(12))[::-1], [3, 11, 0, 7, 5, 1, 9, 2, 10, 4, 8, 6]])
def test_one_constraint_over_twelve_parameters(written):
    space = build(digits(12), [" + ".join(f"P{i}" for i in written) + " <= n"])
    assert space.cartesian_size == 10**12
    assert space.size == sums_up_to(54, 12)
    assert [(r.count, r.estimate) for r in space.removed] == [(10**12 - space.size, False)]
    rng = np.random.default_rng(1)
    numbers = space.sample(500, rng)
    assert len(set(numbers)) == 500
    rows = np.array([space.row(number) for number in numbers])
    assert (rows.sum(axis=1) <= 54).all()
    assert space.indices(rows).tolist() == numbers
    here = rows[0]
    near, wide = space.neighbour_numbers(here)
    room = 54 - int(here.sum())
    assert len(near) + len(wide) == sum(min(9, int(digit) + room) for digit in here)
    assert space.index(space[near[0]]) == near[0]
    assert next(iter(space)) == space.default
    too_much = Configuration(tuple((f"P{i}", 5) for i in range(12)))
    assert too_much not in space
    assert "does not hold" in str(space.explain(too_much)[0])


def test_numbers_are_in_the_order_of_the_values():
    space = build(digits(12), [" + ".join(f"P{i}" for i in range(12)) + " <= n"])
    rows = [space.row(number).tolist() for number in (0, 1, 9, 10, 11, space.size - 1)]
    assert rows == sorted(rows)
    assert rows[1] == [0] * 11 + [1]
    assert rows[3] == [0] * 10 + [1, 0]
    assert rows[-1] == [9] * 6 + [0] * 6


def test_parameters_that_are_tied_are_numbered_as_neighbours():
    space = build(digits(4), ["P0 == P2", "P1 == P3"])
    assert [space.row(number).tolist() for number in (0, 1, 9, 10)] == [[0, 0, 0, 0], [0, 1, 0, 1], [0, 9, 0, 9], [1, 0, 1, 0]]
    turned = build(digits(4), ["P0 <= P3"])
    rows = [row.tolist() for row in turned.rows]
    assert rows == sorted(rows, key=lambda row: (row[0], row[3], row[1], row[2]))


def test_products_and_differences_merge_too():
    parameters = [Parameter(f"P{i}", (1, 2, 4, 8, 16, 32, 64, 128, 256, 512), 1) for i in range(12)]
    powers = build(parameters, [" * ".join(f"P{i}" for i in range(12)) + " <= 2 ** n"])
    assert powers.size == sums_up_to(54, 12)
    differences = build(digits(12), [" + ".join(f"P{i}" for i in range(6)) + " == P6 + P7 + P8 + P9 + P10 + P11"])
    assert differences.size == sums_up_to(54, 12) - sums_up_to(53, 12)  # mirror the second half: sums of exactly 54


def test_the_order_of_declaration_does_not_matter_to_the_cost():
    """P0 == P6, P1 == P7, …: bound in the declared order, a million combinations would be open half-way."""
    space = build(digits(12), [f"P{i} == P{i + 6}" for i in range(6)])
    assert space.size == 10**6
    numbers = space.sample(100, np.random.default_rng(2))
    rows = np.array([space.row(number) for number in numbers])
    assert (rows[:, :6] == rows[:, 6:]).all()
    assert space.indices(rows).tolist() == numbers


def test_more_configurations_than_64_bits_can_number():
    space = build(digits(40, low=1), [" + ".join(f"P{i}" for i in range(40)) + " < 400", "P3 != 7"])
    assert space.size == 9 * 10**39 - 1
    with pytest.raises(OverflowError):
        len(space)
    numbers = space.sample(20, np.random.default_rng(3))
    assert len(set(numbers)) == 20
    assert max(numbers) > 2**64
    for number in (*numbers, 0, space.size - 1):
        assert space.index(space[number]) == number


def test_a_space_too_large_to_list_says_so():
    space = build(digits(12), [])
    with pytest.raises(InputError, match="1,000,000,000,000 configurations; at most 50,000,000 are listed"):
        _ = space.rows


def test_a_constraint_without_structure_is_refused_not_attempted_for_ever(monkeypatch):
    monkeypatch.setattr(construction, "_EDGES_AT_MOST", 100_000)
    mixed = " + ".join(f"{11**i} * P{i}" for i in range(12))
    with pytest.raises(InputError, match=r"too large to construct: .* partial configurations .* before P"):
        build(digits(12), [f"({mixed}) % 1009 != n"])


def test_samples_are_uniform():
    """Chi-square over all 2,002 configurations; the bound is the 99.9th percentile for 2,001 degrees of freedom."""
    space = build(digits(5), ["P0 + P1 + P2 + P3 + P4 <= 9"])
    assert space.size == 2002
    rng = np.random.default_rng(4)
    draws = np.array([space.sample(20, rng) for _ in range(2002)]).ravel()
    expected = len(draws) / space.size
    statistic = ((np.bincount(draws, minlength=space.size) - expected) ** 2 / expected).sum()
    assert statistic < 2001 + 3.1 * np.sqrt(2 * 2001) + 10
    # And not only in their numbers: each digit of the first parameter as often as its share of the space.
    first = np.bincount(space.rows[draws][:, 0], minlength=10)
    shares = np.bincount(space.rows[:, 0], minlength=10) / space.size
    assert (np.abs(first - shares * len(draws)) < 5 * np.sqrt(shares * len(draws))).all()
