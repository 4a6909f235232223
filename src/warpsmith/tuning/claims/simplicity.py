"""The simplest of equally fast configurations: the one with the fewest changes from the original.

What makes no difference where it was measured may make one elsewhere. A block of 4,096 threads that is no faster than the
author's 128 on a long row is much slower on a short one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from warpsmith.core.configuration import Configuration, Value
from warpsmith.measure.policy import EQUAL_DEVIATIONS, EQUAL_WITHIN
from warpsmith.measure.statistics import Floats

_MAD_TO_DEVIATION, _MEAN_TO_MEDIAN = 1.4826, 1.2533


def complexity(configuration: Configuration, default: Configuration) -> tuple[int, float]:
    """How many parameters differ from the default, then how far."""
    distances = [_distance(value, default.get(name)) for name, value in configuration.pairs if value != default.get(name)]
    return len(distances), sum(distances)


def equals(
    best: Configuration,
    candidates: Iterable[Configuration],
    logs: Mapping[str, Mapping[Configuration, Floats]],
    weights: Mapping[str, float],
) -> list[Configuration]:
    """The best, and what is as fast.

    `logs` has, by workload and configuration, the log times of the rounds, in which all were measured one after the other.
    """
    return [
        c for c in candidates if c == best or _is_equal([logs[w][c] - logs[w][best] for w in weights], list(weights.values()))
    ]


def settled(equal: Iterable[Configuration], default: Configuration) -> Configuration:
    """The simplest, then the first by its text: which of equals a machine happened to find the fastest decides nothing."""
    return min(equal, key=lambda c: (complexity(c, default), c.key))


def _is_equal(differences: Sequence[Floats], weights: Sequence[float]) -> bool:
    """Whether it is slower by no more than the measurements' own uncertainty."""
    total = sum(weights)
    slower = sum(weight / total * float(np.median(d)) for weight, d in zip(weights, differences, strict=True))
    variance = sum((weight / total * _error(d)) ** 2 for weight, d in zip(weights, differences, strict=True))
    return slower <= min(EQUAL_WITHIN, EQUAL_DEVIATIONS * math.sqrt(variance))


def _error(differences: Floats) -> float:
    """The standard error of the median."""
    spread = float(np.median(np.abs(differences - np.median(differences))))
    return _MAD_TO_DEVIATION * _MEAN_TO_MEDIAN * spread / math.sqrt(len(differences))


def _distance(value: Value, default: Value | None) -> float:
    """In powers of two, for sizes."""
    if isinstance(value, int | float) and isinstance(default, int | float) and value > 0 and default > 0:
        return abs(math.log2(value / default))
    return 1.0
