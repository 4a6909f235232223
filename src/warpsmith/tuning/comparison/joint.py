"""How all runs of a comparison ended, measured together: every finalist beside the original in the same processes.

The machine's mood changes speedups within minutes (a busy memory makes everything alike). What is compared is therefore launched
in turns, in the same processes: first to choose each run's own winner, then, in fresh ones, for the claims.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from warpsmith.core.configuration import Configuration
from warpsmith.core.errors import BaselineError
from warpsmith.core.outcome import Verdict
from warpsmith.measure.bench import Bench, Candidate
from warpsmith.measure.disturbance import Disturbance
from warpsmith.measure.paired import time_interleaved
from warpsmith.measure.statistics import Floats, Ratio, ratio_over_processes, weighted_mean
from warpsmith.settings import claim_processes
from warpsmith.tuning.comparison.contenders import Contender
from warpsmith.tuning.endurance import lasts
from warpsmith.tuning.finalists import is_to_be_repeated
from warpsmith.verify.prepared import PreparedWorkload

_SECONDS = 3.0  # for one workload in one process
_ROUNDS = (8, 30)

Lanes: TypeAlias = Mapping[str, Candidate]  # by identity: the same code of several runs is launched once
Logs: TypeAlias = Mapping[str, Floats]  # of one lane: log ratios to the original, by workload


class _LaneFailed(Exception):  # noqa: N818 - control flow within this module
    """Some candidate, verified before, does not launch or is no longer right."""


@dataclass(frozen=True, slots=True)
class Claimed:
    """What a contender chose and what is claimed of it."""

    configuration: Configuration
    speedup: Ratio
    workloads: Mapping[str, float]


@dataclass(slots=True)
class Joint:
    """`original` is built for every workload, `weights` are the tuning workloads', `say` hears how far it is."""

    device: str
    prepared: Mapping[str, PreparedWorkload]
    original: Candidate
    weights: Mapping[str, float]
    rng: np.random.Generator
    say: Callable[[str], None]
    others: float | None = None  # the largest share of the cores that other programs took during a claim

    def claims(self, contenders: Sequence[Contender]) -> list[Claimed]:
        candidates = [self.original, *(candidate for one in contenders for _, candidate in one.finalists)]
        lanes = {candidate.identity: candidate for candidate in candidates}
        while True:
            try:
                chosen = self._chosen(contenders, lanes)
                processes = self._processes({lane: lanes[lane] for _, lane in chosen})
                return [self._claim(configuration, [p[lane] for p in processes]) for configuration, lane in chosen]
            except _LaneFailed:
                left = self._still_right(lanes)
                if self.original.identity not in left or len(left) == len(lanes):
                    message = "launches of the finalists fail, though each one is right by itself"
                    raise BaselineError(message, hint="is the machine out of memory?") from None
                lanes = left

    # ── choosing ──

    def _chosen(self, contenders: Sequence[Contender], lanes: Lanes) -> list[tuple[Configuration, str]]:
        """Each contender's own winner among its finalists, which the original belongs to."""
        self.say(f"choosing among {len(lanes)} finalists")
        with self._bench() as bench:
            right = {lane: candidate for lane, candidate in lanes.items() if self._verified(bench, candidate)}
            measured = self._measured(bench, right, list(self.weights))
        scores = {
            lane: weighted_mean({w: float(np.exp(np.median(logs[w]))) for w in self.weights}, self.weights)
            for lane, logs in measured.items()
        }
        own = [[(c, made.identity) for c, made in one.finalists if made.identity in scores] for one in contenders]
        return [min(pairs, key=lambda pair: scores[pair[1]]) for pairs in own]

    def _bench(self) -> Bench:
        """A fresh process on all cores."""
        return Bench(self.device, list(self.prepared.values()), compute_units=None, cores=None)

    def _verified(self, bench: Bench, candidate: Candidate) -> bool:
        """On every declared workload, held out or not."""
        verdicts = (bench.verify(candidate, workload) for workload in self.prepared)
        return all(isinstance(verdict, Verdict) and verdict.passed for verdict in verdicts)

    def _still_right(self, lanes: Lanes) -> dict[str, Candidate]:
        """Those that launch many times and are right afterwards, each in a process of its own."""
        return {lane: candidate for lane, candidate in lanes.items() if self._lasts(candidate)}

    def _lasts(self, candidate: Candidate) -> bool:
        with self._bench() as bench:
            return lasts(bench, candidate, self.prepared.values())

    # ── measuring ──

    def _measured(self, bench: Bench, lanes: Lanes, workloads: Sequence[str]) -> dict[str, dict[str, Floats]]:
        """Every lane beside the original, in turns."""
        contenders = {lane: candidate for lane, candidate in lanes.items() if lane != self.original.identity}
        order = [self.original, *contenders.values()]
        found: dict[str, dict[str, Floats]] = {lane: {} for lane in lanes}
        for workload in workloads:
            first = bench.time(workload, order)
            if not isinstance(first, list):
                raise _LaneFailed
            rounds = int(np.clip(_SECONDS / (sum(first) / 1e9 + 1e-6), *_ROUNDS))
            times = time_interleaved(bench, workload, order, rounds, self.rng)
            if not isinstance(times, np.ndarray):
                raise _LaneFailed
            logs = np.log(times)
            for at, lane in enumerate(contenders, start=1):
                found[lane][workload] = logs[:, at] - logs[:, 0]
            if self.original.identity in found:
                found[self.original.identity][workload] = np.zeros(rounds)
        return found

    def _processes(self, winners: Lanes) -> list[dict[str, dict[str, Floats]]]:
        done: list[dict[str, dict[str, Floats]]] = []
        repeats, wanted = 0, claim_processes()
        while len(done) < wanted:
            self.say(f"{len(winners)} winners beside the original, process {len(done) + 1} of {wanted}")
            with self._bench() as bench:
                disturbance = Disturbance(None, [bench.start()])
                measured = self._measured(bench, winners, list(self.prepared))
                others = disturbance.others()
                if is_to_be_repeated(others, repeats, wanted):
                    repeats += 1
                    continue
                # What behaves otherwise on its hundredth launch than on its first is caught here.
                if not all(self._verified(bench, candidate) for candidate in winners.values()):
                    raise _LaneFailed
            done.append(measured)
            self.others = max(self.others or 0.0, others) if others is not None else self.others
        return done

    def _claim(self, configuration: Configuration, processes: Sequence[Logs]) -> Claimed:
        each = {w: ratio_over_processes([{w: p[w]} for p in processes], {w: 1.0}, self.rng).inverse for w in self.prepared}
        speedup = ratio_over_processes(processes, self.weights, self.rng).inverse
        return Claimed(configuration, speedup, {w: ratio.value for w, ratio in each.items()})
