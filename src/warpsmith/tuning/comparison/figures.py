"""Statistics of a comparison: medians, spread, wins and their uncertainty, from the runs' claims. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from warpsmith.core.configuration import Configuration
from warpsmith.measure.policy import COMPARISON_RESAMPLES, TIE
from warpsmith.measure.statistics import Ratio
from warpsmith.record.result import ModelCost
from warpsmith.tuning.order import Mode

Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Final:
    """How one run ended: what it chose, claimed beside the original together with all the others."""

    run: str
    mode: Mode
    seed: int
    configuration: Configuration
    speedup: Ratio
    workloads: Mapping[str, float]  # speedup on each, held-out ones included
    evaluations: int
    failures: int
    seconds: float
    course: tuple[float, ...]  # best speedup so far after each evaluation, as searched
    model: ModelCost | None = None  # what a language model took, as in the run's result


def summary(finals: Sequence[Final]) -> dict[str, Any]:
    """The figures of one mode."""
    speedups = np.array([final.speedup.value for final in finals])
    low, high = median_interval(speedups)
    return {
        "median_speedup": round(float(np.median(speedups)), 4),
        "ci95": [round(low, 4), round(high, 4)],
        "spread": round(spread(speedups), 4),
        "worst": round(float(speedups.min()), 4),
        "best": round(float(speedups.max()), 4),
        "speedups": [round(float(value), 4) for value in speedups],
        "regressions": int((speedups < 1).sum()),
        "evaluations": [final.evaluations for final in finals],
        "failures": sum(final.failures for final in finals),
        "seconds": [round(final.seconds, 1) for final in finals],
        "model": taken(finals),
    }


def taken(finals: Sequence[Final]) -> dict[str, Any] | None:
    """What models took for all of them together; None when none was asked."""
    found = [final.model for final in finals if final.model is not None]
    if not found:
        return None
    return {
        "tokens": sum(model.tokens for model in found),
        "usd": round(sum(model.usd for model in found), 6),
        "unpriced": any(model.unpriced for model in found),
    }


def spread(values: Floats) -> float:
    """Interquartile range over the median."""
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
    return float((high - low) / middle)


def median_interval(values: Floats) -> tuple[float, float]:
    """95 % bootstrap interval of the median over seeds."""
    low, high = np.quantile(_medians(values, np.random.default_rng(0)), [0.025, 0.975])
    return float(low), float(high)


def advantage(template: Floats, direct: Floats) -> Ratio:
    """Median of template + search over that of direct rewriting, with a bootstrap interval over seeds."""
    rng = np.random.default_rng(0)
    low, high = np.quantile(_medians(template, rng) / _medians(direct, rng), [0.025, 0.975])
    return Ratio(float(np.median(template) / np.median(direct)), float(low), float(high))


def wins(template: Floats, direct: Floats) -> dict[str, int]:
    """Over all pairs of a run of one mode and a run of the other: seeds of different modes have nothing in common."""
    ratios = template[:, None] / direct[None, :]
    ahead, behind = int((ratios > 1 + TIE).sum()), int((ratios < 1 - TIE).sum())
    return {"pairs": ratios.size, "template": ahead, "direct": behind, "ties": ratios.size - ahead - behind}


def courses(finals: Sequence[Final], length: int) -> Floats:
    """One row for each run; a run that ended early stays where it was."""
    return np.array([[*final.course, *[final.course[-1]] * (length - len(final.course))][:length] for final in finals])


def _medians(values: Floats, rng: np.random.Generator) -> Floats:
    drawn: Floats = values[rng.integers(0, len(values), size=(COMPARISON_RESAMPLES, len(values)))]
    medians: Floats = np.median(drawn, axis=1)
    return medians
