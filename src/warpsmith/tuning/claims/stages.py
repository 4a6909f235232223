"""Drives the last two stages on the device: finalists on all cores, then the claims in fresh processes, compilers paused."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from warpsmith.compile.pool import CompilePool
from warpsmith.core.configuration import Configuration
from warpsmith.core.errors import BaselineError
from warpsmith.core.outcome import Evaluation, Verdict
from warpsmith.devices.base import DeviceInfo
from warpsmith.measure.bench import Bench, Candidate
from warpsmith.measure.disturbance import Disturbance
from warpsmith.measure.roofline import Roofline, make_roofline
from warpsmith.settings import claim_processes
from warpsmith.tuning.builder import Builder
from warpsmith.tuning.claims import finalists
from warpsmith.tuning.claims.beside import Pace, ProcessMeasurement, Speedups, Table, is_to_be_repeated, measure_table
from warpsmith.tuning.claims.endurance import lasts
from warpsmith.tuning.claims.finalists import Choice, Claim, Shortlist
from warpsmith.tuning.claims.scrutiny import Scrutiny, Subject
from warpsmith.tuning.events import Emit, StageAdvanced, StageStarted
from warpsmith.tuning.profile import Profiler
from warpsmith.tuning.result import Roof, claim_entry, overall_entry
from warpsmith.verify.prepared import PreparedWorkload

_CHOOSING, _CLAIMING = Pace(seconds=2.5), Pace(seconds=0.8)


class _FinalistsFailed(Exception):  # noqa: N818 - control flow within this module
    """Verified before, but not to be trusted after all. None is named where they fail together, and each one alone does not."""

    def __init__(self, *configurations: Configuration) -> None:
        super().__init__(*map(str, configurations))
        self.configurations = configurations


class Claimant:
    def __init__(
        self,
        builder: Builder,
        pool: CompilePool,
        info: DeviceInfo,
        prepared: Mapping[str, PreparedWorkload],
        *,
        device: str,
        rng: np.random.Generator,
        emit: Emit,
    ) -> None:
        self._builder = builder
        self._pool = pool
        self._info = info
        self._device = device
        self._prepared = prepared
        self._rng = rng
        self._emit = emit
        self._kernel = builder.binder.kernel
        self._default = self._kernel.default_configuration
        self._weights = {w.name: w.weight for w in self._kernel.tuning_workloads}
        self._verdicts: dict[tuple[Configuration, str], Verdict] = {}
        self._scrutiny = Scrutiny(device, list(prepared.values()), emit)
        self._profiler = Profiler(device, list(prepared.values()), emit)
        self._counted: dict[str, Any] = {}
        self._unexplained = 0

    def claims(self, evaluations: Sequence[Evaluation]) -> dict[str, Any]:
        listed = finalists.shortlist(evaluations, list(self._weights), self._default)
        built = self._build(listed)
        roofline = make_roofline(self._kernel, self._pool, self._info)
        while True:
            try:
                with self._builder.quiet():
                    choice = self._choose(listed, built)
                self._scrutinise(choice, built)
                with self._builder.quiet():
                    processes = self.measure_in_fresh_processes(choice, built, roofline)
                    self._counted = {w: asdict(c) for w, c in self._profiler.of(built[choice.general]).items()}
                    return self._result(choice, processes)
            except _FinalistsFailed as failed:
                for configuration in failed.configurations:  # the others go on without
                    del built[configuration]

    @contextlib.contextmanager
    def _bench(self, roofline: Roofline | None = None) -> Iterator[Bench]:
        """A fresh process on all cores."""
        extra = roofline.prepared if roofline is not None else ()
        with Bench(self._device, [*self._prepared.values(), *extra], compute_units=None, cores=None) as bench:
            yield bench

    def _build(self, listed: Shortlist) -> dict[Configuration, Candidate]:
        """The finalists for every workload, held-out ones included."""
        built: dict[Configuration, Candidate] = {}
        for configuration in (self._default, *listed.all):
            candidate = self._builder.build(configuration, self._kernel.workloads)
            if isinstance(candidate, Candidate):
                built[configuration] = candidate
        if self._default not in built:
            raise BaselineError("the original kernel no longer compiles")
        return built

    # ── choosing ──

    def _choose(self, listed: Shortlist, built: dict[Configuration, Candidate]) -> Choice:
        self._emit(StageStarted("finalists", len(self._weights)))
        tables: dict[str, Table[Configuration]] = {}
        with self._bench() as bench:
            for configuration in list(built):
                if not self._verified_everywhere(bench, configuration, built[configuration]):
                    del built[configuration]
            for step, workload in enumerate(self._weights, start=1):
                tables[workload] = self._table(bench, workload, built, _CHOOSING)
                self._emit(StageAdvanced(step, workload))
        kept = Shortlist(
            tuple(c for c in listed.general if c in built),
            {w: tuple(c for c in some if c in built) for w, some in listed.per_workload.items()},
        )
        return finalists.choose(tables, kept, self._weights, self._default)

    def _scrutinise(self, choice: Choice, built: Mapping[Configuration, Candidate]) -> None:
        def subject(configuration: Configuration) -> Subject:
            return Subject(built[configuration], lambda: self._builder.build_watched(configuration, self._kernel.workloads))

        for configuration in dict.fromkeys((choice.general, *choice.per_workload.values())):
            original = subject(self._default)
            if configuration != self._default and self._scrutiny.problem(subject(configuration), original) is not None:
                raise _FinalistsFailed(configuration)

    def _verified_everywhere(self, bench: Bench, configuration: Configuration, candidate: Candidate) -> bool:
        """On every declared workload: what ships must be right on the held-out shapes too."""
        for workload in self._prepared:
            verdict = bench.verify(candidate, workload)
            if isinstance(verdict, Verdict) and verdict.passed:
                self._verdicts[configuration, workload] = verdict
                continue
            if configuration != self._default:
                return False
            if isinstance(verdict, Verdict):
                reason = verdict.failure.problem if verdict.failure is not None else ""
            else:
                reason = verdict.reason
            raise BaselineError(f"the original kernel does not pass on workload {workload!r}: {reason}")
        return True

    def _table(
        self, bench: Bench, workload: str, candidates: Mapping[Configuration, Candidate], pace: Pace
    ) -> Table[Configuration]:
        """Timed and still right: a kernel that behaves otherwise on its tenth launch than on its first is caught here."""
        original = self._default, candidates[self._default]
        table = measure_table(bench, workload, candidates, original, pace, self._rng)
        if table is not None and self._prepared[workload].verdict_after_launch().passed:
            return table
        raise self._reason(workload, candidates)

    def _reason(self, workload: str, candidates: Mapping[Configuration, Candidate]) -> Exception:
        """Why a table could not be measured: who does not last by itself, or all but the original if it happens again."""
        failing = [c for c, candidate in candidates.items() if not self._lasts(candidate, workload)]
        suspects = [c for c in candidates if c != self._default]
        if self._default in failing or not suspects:
            return BaselineError(
                f"the original kernel no longer runs, or no longer gives the right result, on workload {workload!r}"
            )
        if not failing:
            self._unexplained += 1
        return _FinalistsFailed(*(failing or (suspects if self._unexplained > 1 else ())))

    def _lasts(self, candidate: Candidate, workload: str) -> bool:
        with self._bench() as bench:
            return lasts(bench, candidate, [self._prepared[workload]])

    # ── claiming ──

    def measure_in_fresh_processes(
        self, choice: Choice, built: Mapping[Configuration, Candidate], roofline: Roofline
    ) -> list[ProcessMeasurement[Configuration]]:
        # With nothing beside the original there is no ratio to be sure of: its own times are all there is to measure.
        wanted = claim_processes() if {choice.general, *choice.per_workload.values()} - {self._default} else 1
        self._emit(StageStarted("claims", wanted))
        done: list[ProcessMeasurement[Configuration]] = []
        repeats = 0
        while len(done) < wanted:
            measured = self._one_process(choice, built, roofline)
            if is_to_be_repeated(measured.others, repeats, wanted):
                repeats += 1
                self._emit(StageAdvanced(len(done), f"disturbed by others ({measured.others:.0%} of the cores), measuring again"))
                continue
            done.append(measured)
            self._emit(StageAdvanced(len(done)))
        return done

    def _one_process(
        self, choice: Choice, built: Mapping[Configuration, Candidate], roofline: Roofline
    ) -> ProcessMeasurement[Configuration]:
        with self._bench(roofline) as bench:
            disturbance = Disturbance(None, [bench.start()])
            tables = {}
            for workload in self._prepared:
                wanted = {self._default, choice.general, choice.per_workload.get(workload, choice.general)}
                lanes = {c: built[c] for c in built if c in wanted}
                tables[workload] = self._table(bench, workload, lanes, _CLAIMING)
            reading = bench.reading()
            roof_us = roofline.measure(bench, self._rng)
            return ProcessMeasurement(tables, roof_us, disturbance.others(), reading)

    # ── reporting ──

    def _result(self, choice: Choice, processes: Sequence[ProcessMeasurement[Configuration]]) -> dict[str, Any]:
        speedups = Speedups(processes, self._default, self._rng)
        chosen, choice = choice.general, finalists.certain(choice, speedups, self._weights)
        known = [w for w in processes[0].roof_us if all(w in p.roof_us for p in processes)]
        roof = Roof({w: float(np.median([p.roof_us[w] for p in processes])) for w in known})
        others = [p.others for p in processes if p.others is not None]
        return {
            "baseline": self._overall(self._default, speedups, roof),
            "general": self._overall(choice.general, speedups, roof),
            "uncertain": None if chosen == choice.general else self._uncertain(chosen, speedups, roof),
            "per_workload": self._entries(choice.per_workload, speedups, roof),
            "heldout": self._entries({w.name: choice.general for w in self._kernel.heldout_workloads}, speedups, roof),
            "roofline": {
                "roof_us": dict(roof.us),
                "how": "probes of the same traffic and of multiply-adds, timed beside the claims",
            },
            "evidence": {
                "processes": len(processes),
                "process_spread": round(finalists.spread_between_processes(chosen, processes, self._weights), 4),
                "others_share": round(max(others), 3) if others else None,
                "oracle": "the NumPy reference" if self._kernel.reference.file else "the original kernel",
                "passed_by_zeros": {name: found for name, ready in self._prepared.items() if (found := ready.passed_by_zeros())},
                "readings": [asdict(p.reading) for p in processes if p.reading is not None],
                "checks": self._scrutiny.entry,
                "counters": self._counted,
                "cache": "cold: emptied before each launch"
                if self._info.empties_caches
                else "warm: launches back to back, nothing flushed",
            },
        }

    def _uncertain(self, chosen: Configuration, speedups: Speedups[Configuration], roof: Roof) -> dict[str, Any]:
        """What would be the general configuration if its gain were certain."""
        heldout = {w.name: chosen for w in self._kernel.heldout_workloads}
        return {**self._overall(chosen, speedups, roof), "heldout": self._entries(heldout, speedups, roof)}

    def _entries(
        self, configurations: Mapping[str, Configuration], speedups: Speedups[Configuration], roof: Roof
    ) -> dict[str, Any]:
        return {w: claim_entry(w, self._claim(w, c, speedups), roof) for w, c in configurations.items()}

    def _overall(self, configuration: Configuration, speedups: Speedups[Configuration], roof: Roof) -> dict[str, Any]:
        claims = {w: self._claim(w, configuration, speedups) for w in self._weights}
        return overall_entry(claims, speedups.over(self._weights, configuration), self._weights, roof)

    def _claim(self, workload: str, configuration: Configuration, speedups: Speedups[Configuration]) -> Claim:
        return finalists.claim(speedups, workload, configuration, self._verdicts[configuration, workload])
