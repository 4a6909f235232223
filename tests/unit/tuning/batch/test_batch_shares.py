"""How a batch shares out its budget: laws that hold for any standings."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warpsmith.tuning.batch.shares import Standing, equal_shares, in_proportion, shares_by_gain

_SCORES = st.lists(st.one_of(st.floats(0.05, 4.0), st.just(math.inf)), max_size=30)
_STANDINGS = st.lists(
    st.builds(Standing, st.just(0), st.floats(0, 200), _SCORES, st.none() | st.floats(0.01, 1.5), st.booleans()), max_size=8
).map(lambda some: [replace(standing, place=place) for place, standing in enumerate(some)])

STALLED = Standing(0, 20, [1.0, 0.8, *[0.9] * 18], 0.5)


@given(_STANDINGS, st.integers(0, 300))
def test_all_is_given_but_to_those_that_are_at_their_end(standings: list[Standing], budget: int):
    shares = shares_by_gain(standings, budget, whole=True)
    assert all(share >= 0 and share == int(share) for share in shares.values())
    assert all(not shares[s.place] for s in standings if s.exhausted)
    wanted = 0 if all(s.exhausted for s in standings) else budget
    assert sum(shares.values()) == wanted


@given(_STANDINGS, st.floats(0.5, 1e5))
def test_time_is_given_likewise(standings: list[Standing], budget: float):
    shares = shares_by_gain(standings, budget, whole=False)
    wanted = 0.0 if all(s.exhausted for s in standings) else budget
    assert sum(shares.values()) == pytest.approx(wanted, rel=0.01)


@pytest.mark.parametrize(
    "better",
    [
        replace(STALLED, place=1, scores=[1.0, *[0.8] * 18, 0.5]),
        replace(STALLED, place=1, fraction=0.1),
    ],
    ids=["still gaining", "far from the roofline"],
)
def test_more_goes_where_more_may_be_gained(better: Standing):
    for standings in ([STALLED, better], [better, STALLED]):
        shares = shares_by_gain(standings, 40, whole=True)
        assert shares[1] > shares[0]


def test_who_is_as_good_as_another_gets_as_much():
    shares = shares_by_gain([replace(STALLED, place=place) for place in range(4)], 40, whole=True)
    assert set(shares.values()) == {10}


def test_the_first_shares_are_equal():
    assert equal_shares([0, 2, 5], 50, whole=True) == {0: 16, 2: 16, 5: 16}
    assert equal_shares([0, 1], 5.0, whole=False) == {0: 2.5, 1: 2.5}


def test_a_second_limit_goes_the_same_way():
    assert in_proportion({0: 1.0, 1: 3.0}, 60.0) == {0: 15.0, 1: 45.0}
    assert in_proportion({0: 0.0}, 60.0) == {0: 0.0}


def test_the_reason_says_what_was_seen():
    assert STALLED.reason == "no gain in its second half; at 50% of the roofline"
    assert replace(STALLED, scores=[1.0, 0.8, 0.8, 0.4], fraction=None).reason == "gain in its second half: 100%"
    assert replace(STALLED, exhausted=True).reason == "the space is exhausted"
