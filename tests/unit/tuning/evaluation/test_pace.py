"""A device that has become slow is told once, and only when it is clear."""

import numpy as np
import pytest

from warpsmith.tuning.evaluation.pace import Pace


def told(pace: Pace, seconds: dict[str, float], count: int, rng: np.random.Generator) -> list[tuple[str, float]]:
    """Evaluations of configurations that differ by several times."""
    found = []
    for _ in range(count):
        for device, typical in seconds.items():
            if (times := pace.took(device, typical * float(rng.lognormal(0, 0.5)))) is not None:
                found.append((device, times))
    return found


@pytest.mark.parametrize("seed", range(5))
def test_alike_devices_are_not_told_apart(seed):
    assert told(Pace(), dict.fromkeys("abcd", 1.0), 100, np.random.default_rng(seed)) == []


@pytest.mark.parametrize("seed", range(5))
def test_one_that_becomes_slow_is_told(seed):
    pace, rng = Pace(), np.random.default_rng(seed)
    assert told(pace, dict.fromkeys("abc", 1.0), 20, rng) == []
    [(device, times)] = told(pace, {"a": 1.0, "b": 12.0, "c": 1.0}, 40, rng)
    assert device == "b"
    assert times > 3


def test_of_two_nobody_knows_which():
    assert told(Pace(), {"a": 1.0, "b": 20.0}, 50, np.random.default_rng(0)) == []
