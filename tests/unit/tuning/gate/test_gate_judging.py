"""False alarms stay below their level, planted slowdowns are found where noise allows it, and the smallest is said truly."""

from __future__ import annotations

import numpy as np
import pytest

from warpsmith.measure.policy import FALSE_ALARMS
from warpsmith.tuning.gate.judging import SpeedChange, change, suspects
from warpsmith.tuning.gate.result import GateOutcome, verdict

TOLERANCE = 0.02
PROCESSES = 5


def _measured(rng: np.random.Generator, noise: float, slowdown: float = 0.0) -> list[float]:
    return list(rng.normal(0.5 - np.log1p(slowdown), noise, PROCESSES))


def _change(rng: np.random.Generator, noise: float, slowdown: float = 0.0) -> SpeedChange:
    found = change(_measured(rng, noise), _measured(rng, noise, slowdown))
    assert found is not None
    return found


@pytest.mark.parametrize("winners", [1, 12])
@pytest.mark.parametrize("noise", [0.01, 0.06])
def test_no_more_false_alarms_than_stated_however_many_winners(winners: int, noise: float):
    rng = np.random.default_rng(4)
    gates = 400
    alarms = sum(bool(suspects({str(w): _change(rng, noise) for w in range(winners)}, 0.0)) for _ in range(gates))
    assert alarms <= (FALSE_ALARMS + 3 * np.sqrt(FALSE_ALARMS * (1 - FALSE_ALARMS) / gates)) * gates


def test_a_slowdown_of_5_percent_is_found_where_the_noise_allows_it():
    rng = np.random.default_rng(5)
    found = 0
    for _ in range(200):
        changes = {"slower": _change(rng, 0.01, 0.05), **{str(w): _change(rng, 0.01) for w in range(3)}}
        found += "slower" in suspects(changes, TOLERANCE)
    assert found >= 190


@pytest.mark.parametrize("noise", [0.005, 0.02, 0.05])
def test_the_smallest_slowdown_is_said_truly(noise: float):
    rng = np.random.default_rng(6)
    smallest = float(np.median([_change(rng, noise).smallest() for _ in range(200)]))
    found = sum("slower" in suspects({"slower": _change(rng, noise, smallest)}, 0.0) for _ in range(300)) / 300
    assert found == pytest.approx(0.9, abs=0.07)


def test_what_nobody_minds_is_no_alarm():
    tiny = change([0.5, 0.5001, 0.4999], [0.49, 0.4901, 0.4899])
    assert tiny is not None
    assert tiny.p < 1e-3
    assert suspects({"a": tiny}, TOLERANCE) == set()
    assert suspects({"a": tiny}, 0.005) == {"a"}


def test_without_noise_it_is_plain():
    same = change([0.5, 0.5], [0.5, 0.5])
    slower = change([0.5, 0.5], [0.4, 0.4])
    assert same is not None
    assert slower is not None
    assert suspects({"same": same, "slower": slower}, TOLERANCE) == {"slower"}


def test_one_process_alone_says_nothing():
    assert change([0.5, 0.5], [0.1]) is None
    assert change([0.5], [0.1, 0.1]) is None
    beside = change(None, [-0.1, -0.11, -0.09])
    assert beside is not None
    assert beside.slowdown == pytest.approx(np.expm1(0.1))


def test_what_seems_slower_has_to_be_slower_again_on_a_machine_that_is_quiet():
    def again(slowdown: float, p: float) -> SpeedChange:
        return SpeedChange(slowdown, slowdown - 0.01, slowdown + 0.01, p, 0.005, 8.0)

    assert verdict(again(0.05, 0.001), TOLERANCE, 0.1)[0] is GateOutcome.FAILED
    assert verdict(again(0.05, 0.001), TOLERANCE, 0.4)[0] is GateOutcome.SKIPPED
    assert verdict(again(0.4, 0.001), TOLERANCE, 0.8)[0] is GateOutcome.FAILED, "more than others can do"
    assert verdict(again(0.05, 0.2), TOLERANCE, 0.1)[0] is GateOutcome.PASSED
    assert verdict(again(0.01, 0.001), TOLERANCE, 0.1)[0] is GateOutcome.PASSED
