"""Times a stored winner interleaved with its original, in fresh processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from warpsmith.core.errors import WarpsmithError
from warpsmith.core.outcome import Verdict
from warpsmith.measure.bench import Bench, Candidate
from warpsmith.measure.disturbance import Disturbance
from warpsmith.measure.policy import GATE, is_to_be_repeated
from warpsmith.measure.scrub import make_scrubber
from warpsmith.tuning.afterwards.stand import Stand, stand_for
from warpsmith.tuning.claims.interleaved import TimeTable, measure_table
from warpsmith.tuning.evaluation.original import establish_original
from warpsmith.tuning.gate.winners import Winner
from warpsmith.verify.prepared import PreparedWorkload
from warpsmith.verify.seeds import fresh_seed

_ORIGINAL, _WINNER = "original", "winner"


@dataclass(slots=True)
class ProcessFigures:
    """By tuning workload, one of each process: log of the speedup over the original, and of the speed itself (1/µs)."""

    speedup_logs: dict[str, list[float]] = field(default_factory=dict)
    speed_logs: dict[str, list[float]] = field(default_factory=dict)
    others: list[float] = field(default_factory=list)  # the shares of the cores that other programs took, where that is known

    @property
    def others_share(self) -> float:
        return float(np.median(self.others)) if self.others else 0.0

    def add(self, workload: str, table: TimeTable[str]) -> None:
        self.speedup_logs.setdefault(workload, []).append(-float(np.median(table.logs[_WINNER])))
        self.speed_logs.setdefault(workload, []).append(-float(np.log(table.median_us[_WINNER])))

    def extend(self, other: ProcessFigures) -> None:
        for mine, theirs in ((self.speedup_logs, other.speedup_logs), (self.speed_logs, other.speed_logs)):
            for workload, logs in theirs.items():
                mine.setdefault(workload, []).extend(logs)
        self.others += other.others


@dataclass(frozen=True, slots=True)
class Timing:
    """Ready to measure one winner, for as many processes as somebody wants."""

    winner: Winner
    stand: Stand
    prepared: dict[str, PreparedWorkload]
    original: Candidate
    candidates: dict[str, Candidate]  # by workload

    def measured(self, processes: int, heard: Callable[[int], None]) -> ProcessFigures:
        figures, done, repeats = ProcessFigures(), 0, 0
        rng = np.random.default_rng()
        while done < processes:
            found, others = ProcessFigures(), None
            with self._bench() as bench:
                disturbance = Disturbance(None, [bench.start()])
                for workload in self.prepared:
                    lanes = {_ORIGINAL: self.original, _WINNER: self.candidates[workload]}
                    table = measure_table(bench, workload, lanes, (_ORIGINAL, self.original), GATE, rng)
                    if not isinstance(table, TimeTable):
                        raise WarpsmithError(f"a timed launch failed or was wrong on workload {workload!r}")
                    found.add(workload, table)
                others = disturbance.others()
            if is_to_be_repeated(others, repeats, processes):
                repeats += 1
                continue
            found.others = [] if others is None else [others]
            figures.extend(found)
            done += 1
            heard(done)
        return figures

    @contextmanager
    def _bench(self) -> Iterator[Bench]:
        scrubber = make_scrubber(self.stand.pool, self.stand.info)
        with Bench(self.stand.device, list(self.prepared.values()), scrubber=scrubber) as bench:
            yield bench


@contextmanager
def timing_of(winner: Winner, device: str, *, binary_cache: Path) -> Iterator[Timing]:
    """Raises WarpsmithError for what does not compile, or an original that is not right."""
    choices = winner.choices
    with stand_for(choices, device, binary_cache=binary_cache) as stand:
        seed, workloads = fresh_seed(), stand.plain.tuning_workloads
        with stand.prepared((workload, seed) for workload in workloads) as prepared:
            with Bench(device, list(prepared.values())) as bench:
                original = establish_original(stand.builder_of_original, bench, prepared, is_known=True)
                candidates = {}
                for workload in workloads:
                    candidate = _candidate(winner, stand, workload.name)
                    verdict = bench.verify(candidate, workload.name)
                    if not isinstance(verdict, Verdict) or not verdict.passed:
                        raise WarpsmithError(f"wrong result on workload {workload.name!r}")
                    candidates[workload.name] = candidate
            yield Timing(winner, stand, prepared, original, candidates)


def _candidate(winner: Winner, stand: Stand, workload: str) -> Candidate:
    """As it ships there: of several exported files the one that is for this workload."""
    own = next((build for build in reversed(winner.builds) if workload in build.workloads), None)
    builder = stand.builder(winner.choices) if own is None else stand.builder_of_export(own)
    configuration = winner.configuration if own is None else builder.binder.kernel.default_configuration
    built = builder.build(configuration, [w for w in stand.plain.workloads if w.name == workload])
    if not isinstance(built, Candidate):
        raise WarpsmithError(f"it does not compile: {built.reason}")
    refusal = builder.refusal(configuration, built)
    if refusal is not None:
        raise WarpsmithError(f"it cannot run: {refusal.reason}")
    return built
