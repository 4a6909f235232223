"""Products and quotients that rules speak of, and the threads of a block: by the launch, or by where a recorded space ends."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from warpsmith.core.configuration import Configuration
from warpsmith.core.expression import Expression
from warpsmith.core.hardware import Limits
from warpsmith.space import Space
from warpsmith.spec.kernel import Constraint, Launch, Parameter, Workload

GPU = Limits(1024, 1024, 1024, 64, 49152, 32, 4)
CPU = Limits(8192, 8192, 8192, 8192, 262144, 32, 2)
M = Parameter("M", (16, 32, 64), 32)
N = Parameter("N", (16, 32, 64), 32)
EACH = Parameter("EACH", (1, 2, 4), 2)


def build(*parameters, constraints=(), block=(1,), limits=GPU):
    rules = tuple(Constraint(Expression.parse(text)) for text in constraints)
    launch = Launch((Expression.parse(1),), tuple(map(Expression.parse, block)), Expression.parse(0))
    return Space.build(parameters, rules, launch, (Workload("w", {"n": 64}),), limits)


@pytest.mark.parametrize(
    ("constraint", "found"),
    [
        ("4 * M * N <= 8192", [(("M", 1), ("N", 1))]),
        ("M / EACH >= 8", [(("EACH", 1), ("M", -1))]),
        ("EACH <= M / 8 and n % EACH == 0", []),  # of one parameter, and workload sizes and numbers are none
        ("ceildiv(M, EACH) * N <= 1024", [(("EACH", 1), ("M", -1)), (("EACH", 1), ("M", -1), ("N", -1))]),
        ("M * (N + EACH) <= 4096", []),  # a sum is no product of powers
        ("M * EACH / M <= 4", [(("EACH", 1), ("M", 1))]),  # what cancels is gone, the product in it is not
    ],
)
def test_quantities_are_products_of_powers_each_once(constraint, found):
    assert list(build(M, N, EACH, constraints=(constraint,)).quantities) == found


def test_extents_along_several_axes_count_together():
    assert build(M, N, EACH, block=("M / EACH", "N")).quantities == (
        (("EACH", 1), ("M", -1)),
        (("EACH", 1), ("M", -1), ("N", -1)),
    )


# ── threads of a block ──


def test_the_launch_says_how_many_threads_a_block_has():
    threads = build(M, N, EACH, block=("M / EACH", "8 * EACH")).threads
    assert threads is not None
    assert threads.places == (0, 2)
    for (i, m), (j, each) in product(enumerate(M.values), enumerate(EACH.values)):
        assert threads.values[i, j] == m // each * 8 * each


def test_it_says_how_many_of_them_follow_each_other_on_every_device():
    for limits in (GPU, CPU):
        along_x = build(M, N, EACH, block=("N / EACH", "M / EACH"), limits=limits).neighbouring_threads
        assert along_x is not None
        assert along_x.places == (1, 2)
        assert along_x.values[0].tolist() == [16, 8, 4]


@pytest.mark.parametrize(
    ("block", "limits"),
    [(("M",), CPU), ((256,), GPU), (("min(M, n)",), GPU)],
    ids=["no GPU", "the same for all", "another for each workload"],
)
def test_threads_that_tell_nothing_are_not_told(block, limits):
    assert build(M, block=block, limits=limits).threads is None


def listed(lists, allowed):
    parameters = tuple(Parameter(f"P{at}", values, values[0]) for at, values in enumerate(lists))
    every = product(*(enumerate(values) for values in lists))
    rows = [[at for at, _ in choice] for choice in every if allowed(*(value for _, value in choice))]
    return Space.listed(parameters, np.array(rows, dtype=np.int32), Configuration(tuple((p.name, p.default) for p in parameters)))


X, Y, Z = (16, 32, 64, 128), (1, 2, 4, 8, 16), (1, 2, 3, 4)


@pytest.mark.parametrize(
    ("lists", "allowed", "places"),
    [
        ((Z, X, Y), lambda _, x, y: x * y <= 1024, (1, 2)),
        ((X, Z, Y), lambda x, z, y: x * y * z <= 1024, (0, 1, 2)),
        ((X, Y, Z), lambda x, y, z: True, None),  # ends at 2,048 because the values do
        (((16, 32, 64), Y, Z), lambda x, y, z: True, None),  # ends at 1,024, but so do the values
        ((X, Y, Z), lambda x, y, z: x * y <= 512, None),
        ((X, Y, (1, 2, 4, 8, 16)), lambda x, y, z: x * y <= 1024 and x * z <= 1024, None),  # which of the two?
        (((8, 16, 32), (1, 2, 4, 8), (1, 2, 4, 8)), lambda x, y, z: x * y <= 128, None),  # 128 * 8: 1,024 by chance
    ],
)
def test_a_recording_shows_the_threads_by_where_it_ends(lists, allowed, places):
    space = listed(lists, allowed)
    assert (space.threads.places if space.threads else None) == places
    if space.threads and len(places) == 2:
        first, second = (lists[place] for place in places)
        assert space.threads.values == pytest.approx(np.outer(first, second))
