"""Robust figures from noisy, autocorrelated times: paired ratios and their intervals.

On the CPU device single times vary by 8–17 % and repetitions are not independent (lag-1 autocorrelation about 0.7), while
*ratios of neighbouring launches* are steady. So everything here works on logarithms of paired ratios.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from warpsmith.measure.policy import CLAIM_RESAMPLES, RESAMPLES

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio of times with its 95 % interval."""

    value: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        """Relative half width of the interval, on the log scale."""
        return (math.log(self.high) - math.log(self.low)) / 2 if self.low > 0 and math.isfinite(self.high) else math.inf

    def times(self, other: Ratio) -> Ratio:
        """Product of two independently measured ratios: their relative errors add in quadrature."""
        value = self.value * other.value
        low = math.exp(-math.hypot(_log_of(self.value, self.low), _log_of(other.value, other.low)))
        high = math.exp(math.hypot(_log_of(self.high, self.value), _log_of(other.high, other.value)))
        return Ratio(value, value * low, value * high)

    @property
    def inverse(self) -> Ratio:
        return Ratio(1 / self.value, 1 / self.high, 1 / self.low)


def paired_ratio(numerator: Sequence[float], denominator: Sequence[float], rng: np.random.Generator) -> Ratio:
    """Median ratio of interleaved pairs, with a block-bootstrap interval.

    Blocks of neighbouring pairs are resampled, not single pairs, because neighbours share the machine's state.
    """
    logs = np.log(np.asarray(numerator, dtype=float)) - np.log(np.asarray(denominator, dtype=float))
    if len(logs) < 2:
        centre = float(np.exp(logs[0]))
        return Ratio(centre, 0.0, math.inf)
    medians = np.median(_block_resamples(logs, rng), axis=1)
    low, high = np.quantile(medians, [0.025, 0.975])
    widen = _small_sample_factor(len(logs))
    centre = float(np.median(logs))
    return Ratio(
        math.exp(centre), math.exp(centre - widen * max(centre - low, 0.0)), math.exp(centre + widen * max(high - centre, 0.0))
    )


def _block_resamples(logs: Floats, rng: np.random.Generator, resamples: int = RESAMPLES) -> Floats:
    """`resamples` circular block-bootstrap samples of `logs`, one per row."""
    n = len(logs)
    block = max(1, round(n ** (1 / 3)))
    starts = rng.integers(0, n, size=(resamples, -(-n // block)))
    positions = (starts[:, :, None] + np.arange(block)) % n
    samples: Floats = logs[positions.reshape(resamples, -1)[:, :n]]
    return samples


@cache
def _small_sample_factor(n: int) -> float:
    """Factor that widens a bootstrap interval of few independent units.

    The bootstrap of n units underestimates the variance by (n-1)/n and uses the normal distribution instead of Student's t.
    """
    if n < 2:
        return math.inf
    from scipy.special import ndtri, stdtrit  # noqa: PLC0415 - slow to load, and lists of runs need none of it

    return float(stdtrit(n - 1, 0.975) / ndtri(0.975) * math.sqrt(n / (n - 1)))


def _log_of(numerator: float, denominator: float) -> float:
    """log(numerator / denominator), infinite where an interval is unbounded."""
    return math.log(numerator / denominator) if denominator > 0 and math.isfinite(numerator) else math.inf


def weighted_ratio(ratios: Mapping[str, Ratio], weights: Mapping[str, float]) -> Ratio:
    """Weighted geometric mean over the workloads named in `weights`, each measured separately."""
    total = sum(weights.values())
    value = weighted_mean({name: ratios[name].value for name in weights}, weights)
    low = math.hypot(*(weight / total * _log_of(ratios[name].value, ratios[name].low) for name, weight in weights.items()))
    high = math.hypot(*(weight / total * _log_of(ratios[name].high, ratios[name].value) for name, weight in weights.items()))
    return Ratio(value, value * math.exp(-low), value * math.exp(high))


def weighted_mean(values: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """Weighted geometric mean over the workloads named in `weights`."""
    total = sum(weights.values())
    return math.exp(sum(weight * math.log(values[name]) for name, weight in weights.items()) / total)


def ratio_over_processes(
    by_process: Sequence[Mapping[str, Floats]],
    weights: Mapping[str, float],
    rng: np.random.Generator,
    resamples: int = CLAIM_RESAMPLES,
) -> Ratio:
    """The claim: weighted geometric mean over workloads of median paired ratios, over several fresh processes.

    `by_process[p][workload]` holds the log ratios of process p. Processes differ by more than repetitions within one do (memory
    placement, clocks), so the bootstrap resamples processes first, then blocks within them, and is widened for the small number
    of processes. With a single process the interval is unbounded.
    """
    total = sum(weights.values())
    shares = {name: weight / total for name, weight in weights.items()}
    centres = np.array([sum(share * float(np.median(process[name])) for name, share in shares.items()) for process in by_process])
    count = len(centres)
    centre = float(np.mean(centres))
    if count < 2:
        return Ratio(math.exp(centre), 0.0, math.inf)
    # One row of resampled process-level figures per process; then draw processes from the columns.
    inner = np.stack(
        [
            sum(
                (share * np.median(_block_resamples(process[name], rng, resamples), axis=1) for name, share in shares.items()),
                np.zeros(resamples),
            )
            for process in by_process
        ]
    )
    drawn = rng.integers(0, count, size=(count, resamples))
    means = inner[drawn, np.arange(resamples)].mean(axis=0)
    low, high = np.quantile(means, [0.025, 0.975])
    widen = _small_sample_factor(count)
    return Ratio(
        math.exp(centre), math.exp(centre - widen * max(centre - low, 0.0)), math.exp(centre + widen * max(high - centre, 0.0))
    )
