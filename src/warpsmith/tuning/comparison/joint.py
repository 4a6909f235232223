"""Joint measurement of all runs of a comparison: every finalist interleaved with the original in the same processes.

The machine's mood changes speedups within minutes (a busy memory makes everything alike). What is compared is therefore launched
in turns, in the same processes: first to choose each run's own winner, then, in fresh ones, for the claims.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from warpsmith.core.configuration import Configuration
from warpsmith.core.errors import BaselineError
from warpsmith.core.outcome import Verdict
from warpsmith.devices.base import DeviceInfo
from warpsmith.measure.bench import Bench, Candidate, Scrubber
from warpsmith.measure.disturbance import Disturbance
from warpsmith.measure.policy import COMPARISON, is_to_be_repeated
from warpsmith.measure.roofline import Roofline
from warpsmith.measure.statistics import Ratio
from warpsmith.record.result import AboveRoofEntry
from warpsmith.settings import claim_processes
from warpsmith.tuning.claims.above import AboveRoof
from warpsmith.tuning.claims.endurance import lasts
from warpsmith.tuning.claims.interleaved import (
    ProcessMeasurement,
    Speedups,
    TimeTable,
    measure_table,
    overall,
)
from warpsmith.tuning.comparison.contenders import Contender
from warpsmith.verify.prepared import PreparedWorkload

Lanes: TypeAlias = Mapping[str, Candidate]  # by identity: the same code of several runs is launched once


class _LaneFailed(Exception):  # noqa: N818 - control flow within this module
    """Some candidate, verified before, does not launch or is no longer right. Or the named one is faster than the machine."""

    def __init__(self, lane: str | None = None) -> None:
        super().__init__(lane)
        self.lane = lane


@dataclass(frozen=True, slots=True)
class Claimed:
    """A contender's winner and its claim."""

    configuration: Configuration
    speedup: Ratio
    workloads: Mapping[str, float]


@dataclass(slots=True)
class Joint:
    """`original` is built for every workload, `weights` are the tuning workloads', `say` hears how far it is.

    `above` has what was claimed above the roof, and what became of it.
    """

    device: str
    prepared: Mapping[str, PreparedWorkload]
    original: Candidate
    weights: Mapping[str, float]
    rng: np.random.Generator
    info: DeviceInfo
    roofline: Roofline
    say: Callable[[str], None]
    scrubber: Scrubber | None = None
    above: list[AboveRoofEntry] = field(default_factory=list)
    others: float | None = None  # the largest share of the cores that other programs took during a claim

    def claims(self, contenders: Sequence[Contender]) -> list[Claimed]:
        candidates = [self.original, *(candidate for one in contenders for _, candidate in one.finalists)]
        lanes = {candidate.identity: candidate for candidate in candidates}
        named = {made.identity: configuration for one in contenders for configuration, made in one.finalists}
        original = self.original.identity, self.original
        roof = AboveRoof(self.device, self.info, self.roofline, self.prepared, original, lambda lane: named[lane], self.rng)
        while True:
            try:
                chosen = self._chosen(contenders, lanes)
                winners = {lane: lanes[lane] for _, lane in chosen}
                processes = self._processes(winners)
                self._require_possible(roof, winners, processes)
                speedups = Speedups(processes, self.original.identity, self.rng)
                return [self._claim(configuration, lane, speedups) for configuration, lane in chosen]
            except _LaneFailed as failed:
                if failed.lane is not None:
                    lanes = {lane: candidate for lane, candidate in lanes.items() if lane != failed.lane}
                    continue
                left = self._still_right(lanes)
                if self.original.identity not in left or len(left) == len(lanes):
                    message = "launches of the finalists together fail, though each passes alone"
                    raise BaselineError(message, hint="is the machine out of memory?") from None
                lanes = left

    def _require_possible(self, roof: AboveRoof[str], winners: Lanes, processes: Sequence[ProcessMeasurement[str]]) -> None:
        """As for a single run: what is faster than the machine, also when it is measured again, is not claimed."""
        claimed = {w: [lane for lane in winners if lane != self.original.identity] for w in self.prepared}
        refused = roof.refused(claimed, processes, lambda: self._processes(winners))
        self.above = roof.entries
        if refused is not None:
            raise _LaneFailed(refused)

    # ── choosing ──

    def _chosen(self, contenders: Sequence[Contender], lanes: Lanes) -> list[tuple[Configuration, str]]:
        """Each contender's own winner among its finalists, which the original belongs to."""
        self.say(f"choosing among {len(lanes)} finalists")
        with self._bench() as bench:
            right = {lane: candidate for lane, candidate in lanes.items() if self._verified(bench, candidate)}
            tables = self._tables(bench, right, list(self.weights))
        scores = {lane: overall(tables, self.weights, lane) for lane in right}
        own = [[(c, made.identity) for c, made in one.finalists if made.identity in scores] for one in contenders]
        return [min(pairs, key=lambda pair: scores[pair[1]]) for pairs in own]

    def _bench(self, probes: Sequence[PreparedWorkload] = ()) -> Bench:
        """A fresh process on all cores."""
        return Bench(self.device, [*self.prepared.values(), *probes], scrubber=self.scrubber)

    def _verified(self, bench: Bench, candidate: Candidate) -> bool:
        """On every declared workload, held out or not."""
        verdicts = (bench.verify(candidate, workload) for workload in self.prepared)
        return all(isinstance(verdict, Verdict) and verdict.passed for verdict in verdicts)

    def _still_right(self, lanes: Lanes) -> dict[str, Candidate]:
        """Those that launch many times and are right afterwards, each in a process of its own."""
        return {lane: candidate for lane, candidate in lanes.items() if self._lasts(candidate)}

    def _lasts(self, candidate: Candidate) -> bool:
        with self._bench() as bench:
            return lasts(bench, candidate, self.prepared.values(), self.original)

    # ── measuring ──

    def _tables(self, bench: Bench, lanes: Lanes, workloads: Sequence[str]) -> dict[str, TimeTable[str]]:
        original = self.original.identity, self.original
        tables: dict[str, TimeTable[str]] = {}
        for workload in workloads:
            table = measure_table(bench, workload, lanes, original, COMPARISON, self.rng)
            if not isinstance(table, TimeTable):
                raise _LaneFailed
            tables[workload] = table
        return tables

    def _processes(self, winners: Lanes) -> list[ProcessMeasurement[str]]:
        done: list[ProcessMeasurement[str]] = []
        repeats, wanted = 0, claim_processes()
        while len(done) < wanted:
            self.say(f"{len(winners)} winners and the original, process {len(done) + 1} of {wanted}")
            with self._bench(self.roofline.prepared) as bench:
                disturbance = Disturbance(None, [bench.start()])
                tables = self._tables(bench, winners, list(self.prepared))
                probed = self.roofline.probed(bench, self.rng)
                others = disturbance.others()
                if is_to_be_repeated(others, repeats, wanted):
                    repeats += 1
                    continue
                # What behaves otherwise on its hundredth launch than on its first is caught here.
                if not all(self._verified(bench, candidate) for candidate in winners.values()):
                    raise _LaneFailed
            done.append(ProcessMeasurement(tables, self.roofline.roof_us(probed), others, probed=probed))
            self.others = max(self.others or 0.0, others) if others is not None else self.others
        return done

    def _claim(self, configuration: Configuration, lane: str, speedups: Speedups[str]) -> Claimed:
        each = {w: speedups.over({w: 1.0}, lane).value for w in self.prepared}
        return Claimed(configuration, speedups.over(self.weights, lane), each)
