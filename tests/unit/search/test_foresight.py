"""What compilers say ahead is a part of the choice: where it differs, and only then."""

from __future__ import annotations

import numpy as np
import pytest

from warpsmith.core.configuration import Configuration
from warpsmith.core.hardware import Resources
from warpsmith.core.outcome import Evaluation
from warpsmith.search.base import Foresighted
from warpsmith.search.gp import GaussianProcess
from warpsmith.search.gp.foresight import Foresight
from warpsmith.testing.strategies import measured, small_space

PROMISE = np.array([1.0, 0.9, 0.8])


def told(*used: Resources | None) -> Foresight:
    foresight = Foresight()
    for number, resources in enumerate(used):
        foresight.add(number, resources)
    return foresight


@pytest.mark.parametrize(
    ("used", "place"),
    [
        ((Resources(gathers=64), Resources(gathers=64), Resources()), 2),
        ((Resources(spill_bytes=1), Resources(spill_bytes=1), Resources(spill_bytes=1)), 0),
        ((None, Resources(spill_bytes=400), Resources(spill_bytes=400)), 1),
        ((None, None, None), 0),
    ],
    ids=["gathers", "all alike", "does not compile", "none compiles"],
)
def test_of_promising_ones_the_burdened_lose(used: tuple[Resources | None, ...], place: int):
    assert told(*used).chosen([0, 1, 2], PROMISE, {}) == place


def test_what_was_not_compiled_stands_back_unless_nothing_was():
    foresight = told(Resources(gathers=9))
    assert foresight.chosen([7, 8, 0], PROMISE, {}) == 2
    assert foresight.chosen([7, 8, 9], PROMISE, {}) == 0


def test_a_burden_that_does_no_harm_is_forgiven():
    foresight = told(*(Resources(scatters=n) for n in range(40)))
    foresight.add(50, Resources(scatters=30))
    foresight.add(51, Resources())
    numbers, promise = [50, 51], np.array([1.0, 0.7])
    assert foresight.chosen(numbers, promise, dict.fromkeys(range(4), 0.0)) == 1, "at first it is thought to cost time"
    assert foresight.chosen(numbers, promise, {n: -0.01 * n for n in range(40)}) == 0


def test_starts_without_spills_are_preferred_and_nothing_is_compiled_where_nothing_differs():
    space = small_space()

    def spills(configuration: Configuration) -> bool:
        return space.index(configuration) % 3 != 0

    strategy = GaussianProcess(space, np.random.default_rng(0))
    assert isinstance(strategy, Foresighted)
    strategy.tell(Evaluation(space.default, measured(1.0)))
    asked_for = []
    while wanted := strategy.shortlist():
        for configuration in wanted:
            asked_for.append(configuration)
            strategy.foresee(configuration, Resources(spill_bytes=100 * spills(configuration)))
    clean = [c for c in asked_for if not spills(c) and c != space.default]
    assert len(asked_for) == len(set(asked_for)) > 7
    assert len(clean) < len(asked_for)
    starts = strategy.ask(7)
    assert [spills(c) for c in starts] == [False] * min(7, len(clean)) + [True] * (7 - min(7, len(clean)))

    alike = GaussianProcess(space, np.random.default_rng(0))
    alike.tell(Evaluation(space.default, measured(1.0)))
    first = alike.shortlist()
    assert 0 < len(first) <= 8
    for configuration in first:
        alike.foresee(configuration, Resources(spill_bytes=0))
    assert alike.shortlist() == []
    untold = GaussianProcess(space, np.random.default_rng(0))
    untold.tell(Evaluation(space.default, measured(1.0)))
    assert alike.ask(7) == untold.ask(7)
