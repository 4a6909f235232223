"""After the search: choose among the best on all cores, then measure the chosen again in fresh processes for the claim.

Choosing and claiming use different measurements: the figure of the best of several noisy ones is biased (the winner's curse),
so nothing that helped to choose a configuration counts in what is claimed of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from warpsmith.core.configuration import Configuration
from warpsmith.core.hardware import Reading
from warpsmith.core.outcome import Evaluation, Measured, Verdict
from warpsmith.measure.bench import Bench, Candidate
from warpsmith.measure.paired import time_interleaved
from warpsmith.measure.statistics import Floats, Ratio, ratio_over_processes, weighted_mean
from warpsmith.tuning.simplicity import complexity, simplest_of_equals

ROUND_SECONDS = 0.8  # what one workload may take in one process
_MIN_ROUNDS, _MAX_ROUNDS = 6, 30
_DISTURBED_ABOVE = 0.20
_SIMILAR = 0.04  # in the search, which is less exact than the choice


def is_to_be_repeated(others: float | None, repeats: int, processes: int) -> bool:
    """Whether a process in which others took this share of the cores is measured again; for at most half of them."""
    return others is not None and others > _DISTURBED_ABOVE and repeats < processes // 2


@dataclass(frozen=True, slots=True)
class Shortlist:
    """Who is measured again, and who could be whose winner."""

    general: tuple[Configuration, ...]
    per_workload: Mapping[str, tuple[Configuration, ...]]

    @property
    def all(self) -> tuple[Configuration, ...]:
        return tuple(dict.fromkeys([*self.general, *(c for some in self.per_workload.values() for c in some)]))


def shortlist(
    evaluations: Sequence[Evaluation], workloads: Sequence[str], default: Configuration, *, general: int = 8, each: int = 3
) -> Shortlist:
    """The best few by score and by each workload's own relative time; several, because the search saw only part of the cores.

    The simplest of those that the search found about as fast come along. Of configurations that are the same code, one:
    measuring the others would say nothing new.
    """
    distinct: dict[str, tuple[Configuration, Measured]] = {}
    for number, evaluation in enumerate(evaluations):
        if isinstance(evaluation.outcome, Measured):
            code, found = evaluation.outcome.identity or str(number), evaluation.configuration
            known, outcome = distinct.get(code, (found, evaluation.outcome))
            distinct[code] = min(known, found, key=lambda c: complexity(c, default)), outcome

    def best(key: Callable[[Measured], float], count: int) -> tuple[Configuration, ...]:
        return tuple(configuration for configuration, _ in sorted(distinct.values(), key=lambda pair: key(pair[1]))[:count])

    def relative_on(workload: str) -> Callable[[Measured], float]:
        return lambda outcome: next(t.relative for t in outcome.times if t.workload == workload)

    by_score = best(lambda outcome: outcome.score, general)
    fastest = min((outcome.score for _, outcome in distinct.values()), default=0.0)
    similar = [configuration for configuration, outcome in distinct.values() if outcome.score <= fastest * (1 + _SIMILAR)]
    simple = sorted(similar, key=lambda c: complexity(c, default))[:each]
    return Shortlist(tuple(dict.fromkeys((*by_score, *simple))), {w: best(relative_on(w), each) for w in workloads})


@dataclass(frozen=True, slots=True)
class Table:
    """Times of one process on one workload: `logs[c]` are log ratios to the baseline, `median_us[c]` plain medians."""

    logs: Mapping[Configuration, Floats]
    median_us: Mapping[Configuration, float]


def measure_table(
    bench: Bench,
    workload: str,
    baseline: Candidate,
    candidates: Mapping[Configuration, Candidate],
    rng: np.random.Generator,
    *,
    default: Configuration,
    seconds: float = ROUND_SECONDS,
) -> Table | None:
    """Every candidate beside the baseline, interleaved; None when a launch failed (the candidate is then out)."""
    contenders = {c: candidate for c, candidate in candidates.items() if c != default}
    lanes = [baseline, *contenders.values()]
    first = bench.time(workload, lanes)
    if not isinstance(first, list):
        return None
    rounds = int(np.clip(seconds / (sum(first) / 1e9 + 1e-6), _MIN_ROUNDS, _MAX_ROUNDS))
    times = time_interleaved(bench, workload, lanes, rounds, rng)
    if not isinstance(times, np.ndarray):
        return None
    logs = np.log(times)
    medians = np.median(times, axis=0) / 1e3
    return Table(
        {default: np.zeros(rounds), **{c: logs[:, i] - logs[:, 0] for i, c in enumerate(contenders, start=1)}},
        {default: float(medians[0]), **{c: float(medians[i]) for i, c in enumerate(contenders, start=1)}},
    )


@dataclass(frozen=True, slots=True)
class Choice:
    general: Configuration
    per_workload: Mapping[str, Configuration]


def choose(tables: Mapping[str, Table], listed: Shortlist, weights: Mapping[str, float], default: Configuration) -> Choice:
    """The general winner, the simplest of equals, and each workload's own.

    Without a gain the default configuration, which is the original, stays.
    """

    def centre(configuration: Configuration, workload: str) -> float:
        return float(np.exp(np.median(tables[workload].logs[configuration])))

    def overall(configuration: Configuration) -> float:
        return weighted_mean({w: centre(configuration, w) for w in weights}, weights)

    candidates = (default, *listed.general)
    logs = {workload: table.logs for workload, table in tables.items()}
    general = simplest_of_equals(min(candidates, key=overall), candidates, logs, weights, default)
    return Choice(
        general,
        {w: min((default, general, *listed.per_workload[w]), key=lambda c, w=w: centre(c, w)) for w in weights},  # type: ignore[misc]
    )


@dataclass(frozen=True, slots=True)
class Claim:
    """What is reported of one configuration on one workload, or over all of them."""

    configuration: Configuration
    median_us: float
    baseline_us: float
    speedup: Ratio
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class ProcessMeasurement:
    """What one fresh process measured; `others` is the share of the cores that other programs took meanwhile.

    `reading` is what the device said of its clock right after a claim was timed.
    """

    tables: Mapping[str, Table]
    roof_us: Mapping[str, float]
    others: float | None
    reading: Reading | None = None


class Speedups:
    """Over the original, as fresh processes show them. Each interval is drawn once: the one that decides is the one reported."""

    def __init__(self, processes: Sequence[ProcessMeasurement], default: Configuration, rng: np.random.Generator) -> None:
        self.processes = tuple(processes)
        self.default = default
        self._rng = rng
        self._known: dict[tuple[Configuration, Configuration, tuple[tuple[str, float], ...]], Ratio] = {}

    def over(self, weights: Mapping[str, float], configuration: Configuration, beside: Configuration | None = None) -> Ratio:
        """The weighted mean of some workloads; over another configuration than the original, if one is named."""
        other = self.default if beside is None else beside
        if configuration == other:
            return Ratio(1.0, 1.0, 1.0)
        total = sum(weights.values())
        key = configuration, other, tuple((name, weight / total) for name, weight in weights.items())
        if key not in self._known:
            logs = [{w: p.tables[w].logs for w in weights} for p in self.processes]
            by_process = [{w: found[w][configuration] - found[w][other] for w in weights} for found in logs]
            self._known[key] = ratio_over_processes(by_process, weights, self._rng).inverse
        return self._known[key]

    def claim(self, workload: str, configuration: Configuration, verdict: Verdict) -> Claim:
        tables = [p.tables[workload] for p in self.processes]
        return Claim(
            configuration,
            float(np.median([t.median_us[configuration] for t in tables])),
            float(np.median([t.median_us[self.default] for t in tables])),
            self.over({workload: 1.0}, configuration),
            verdict,
        )


def certain(choice: Choice, speedups: Speedups, weights: Mapping[str, float]) -> Choice:
    """What the fresh processes did not show to be faster gives way to what was chosen before it, in the end to the original.

    A change that may be none gains nothing where it was measured, and elsewhere it may lose. They only accept or reject: the
    best of several by what is claimed of it would be claimed too much of. A workload's own winner has to be faster there than
    the general configuration, which it would otherwise only complicate.
    """

    def first_shown(candidates: Sequence[Configuration], weights: Mapping[str, float]) -> Configuration:
        return next((c for c in candidates if speedups.over(weights, c).low > 1), speedups.default)

    general = first_shown((choice.general,), weights)

    def own(workload: str, configuration: Configuration) -> Configuration:
        alone = {workload: 1.0}
        is_faster = speedups.over(alone, configuration, beside=general).low > 1
        return first_shown((configuration, general) if is_faster else (general, configuration), alone)

    return Choice(general, {w: own(w, c) for w, c in choice.per_workload.items()})


def spread_between_processes(
    configuration: Configuration, processes: Sequence[ProcessMeasurement], weights: Mapping[str, float]
) -> float:
    """Largest over smallest speedup among the processes: how far a single process could have been off."""
    figures = [
        weighted_mean({w: math.exp(-float(np.median(p.tables[w].logs[configuration]))) for w in weights}, weights)
        for p in processes
    ]
    return max(figures) / min(figures)
