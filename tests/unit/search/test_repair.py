"""The nearest new configuration: the point itself when it may be, else close to it, and never one that was proposed."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from warpsmith.search.repair import Repair
from warpsmith.search.visits import Visits
from warpsmith.spec.kernel import Parameter
from warpsmith.testing.strategies import large_space, plain_space, small_space


def made(space, seen=(), seed=0):
    rng = np.random.default_rng(seed)
    visits = Visits(space, rng)
    for number in seen:
        visits.add(number)
    return Repair(space, visits, rng)


def test_a_feasible_new_point_stays():
    space = small_space()
    repair = made(space)
    assert [repair.nearest(space.row(number)) for number in range(len(space))] == list(range(len(space)))


@given(st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(0, 2)), st.sets(st.integers(0, 45)), st.integers(0, 5))
def test_it_is_the_nearest_where_one_change_is_enough(target, seen, seed):
    space = small_space()
    repair = made(space, seen, seed)
    found = repair.nearest(np.array(target), anchor=space.row(0))
    left = [number for number in range(len(space)) if number not in seen]
    if not left:
        assert found is None
        return
    assert found in left
    by_one = [n for n in left if np.count_nonzero(space.row(n) != np.array(target)) <= 1]
    if by_one:
        distances = repair.distance(np.array([space.row(n) for n in by_one]), np.array(target))
        assert np.isclose(repair.distance(space.row(found), np.array(target)), distances.min())


def test_far_outside_it_walks_from_the_feasible_side():
    """All parameters at their largest is far from anything allowed; what is found is nearer than most, and on the constraint."""
    space = large_space()
    corner = np.full(len(space.parameters), 9)
    found = space.row(made(space).nearest(corner, anchor=space.encode(space.default)))
    assert found.sum() + len(found) == 5 * len(found), "there is room to go on towards the corner"


def test_values_without_order_are_all_as_far():
    repair = made(plain_space(Parameter("A", ("x", "y", "z"), "x"), Parameter("B", (1, 2, 3), 1)))
    rows = np.array([[1, 0], [2, 0], [0, 1], [0, 2]])
    assert repair.distance(rows, np.array([0, 0])).tolist() == [1.0, 1.0, 0.5, 1.0]


def test_points_beyond_the_lists_are_moved_to_their_ends():
    space = small_space(constrained=False)
    assert space.row(made(space).nearest(np.array([99, -5, 1]))).tolist() == [4, 0, 1]
