"""After the search: select among the best on all cores, then measure the winners again in fresh processes for the claim.

Choosing and claiming use different measurements: the figure of the best of several noisy ones is biased (the winner's curse),
so nothing that helped to choose a configuration counts in what is claimed of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from warpsmith.core.configuration import Configuration
from warpsmith.core.outcome import Evaluation, Measured
from warpsmith.measure.policy import FINALISTS, FINALISTS_PER_WORKLOAD, SIMILAR
from warpsmith.measure.statistics import weighted_mean
from warpsmith.tuning.claims.interleaved import ProcessMeasurement, Speedups, TimeTable, overall
from warpsmith.tuning.claims.simplicity import complexity, equals, settled


@dataclass(frozen=True, slots=True)
class Shortlist:
    """The candidates to measure again, and the workloads that each could win."""

    general: tuple[Configuration, ...]
    per_workload: Mapping[str, tuple[Configuration, ...]]

    @property
    def all(self) -> tuple[Configuration, ...]:
        return tuple(dict.fromkeys([*self.general, *(c for some in self.per_workload.values() for c in some)]))


def shortlist(
    evaluations: Sequence[Evaluation],
    workloads: Sequence[str],
    default: Configuration,
    *,
    general: int = FINALISTS,
    each: int = FINALISTS_PER_WORKLOAD,
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
    similar = [configuration for configuration, outcome in distinct.values() if outcome.score <= fastest * (1 + SIMILAR)]
    simple = sorted(similar, key=lambda c: complexity(c, default))[:each]
    return Shortlist(tuple(dict.fromkeys((*by_score, *simple))), {w: best(relative_on(w), each) for w in workloads})


@dataclass(frozen=True, slots=True)
class Winners:
    """`as_fast` are those that `general` was chosen among, on other grounds than their times."""

    general: Configuration
    per_workload: Mapping[str, Configuration]
    as_fast: tuple[Configuration, ...] = ()


def choose(
    tables: Mapping[str, TimeTable[Configuration]], listed: Shortlist, weights: Mapping[str, float], default: Configuration
) -> Winners:
    """The general winner, the simplest of equals, and each workload's own.

    Without a gain the default configuration, which is the original, stays.
    """
    candidates = (default, *listed.general)
    logs = {workload: table.logs for workload, table in tables.items()}
    fastest = min(candidates, key=lambda c: overall(tables, weights, c))
    equal = equals(fastest, candidates, logs, weights)
    general = settled(equal, default)
    own = {w: (default, general, *listed.per_workload[w]) for w in weights}
    as_fast = tuple(dict.fromkeys(c for c in equal if c != general))
    return Winners(general, {w: min(some, key=tables[w].relative) for w, some in own.items()}, as_fast)


def certain(choice: Winners, speedups: Speedups[Configuration], weights: Mapping[str, float]) -> Winners:
    """Replaces a winner without a significant gain by the next simpler choice, in the end by the original.

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

    return Winners(general, {w: own(w, c) for w, c in choice.per_workload.items()})


def spread_between_processes(
    configuration: Configuration, processes: Sequence[ProcessMeasurement[Configuration]], weights: Mapping[str, float]
) -> float:
    """Largest over smallest speedup among the processes: how far a single process could have been off."""
    figures = [
        weighted_mean({w: math.exp(-float(np.median(p.tables[w].logs[configuration]))) for w in weights}, weights)
        for p in processes
    ]
    return max(figures) / min(figures)
