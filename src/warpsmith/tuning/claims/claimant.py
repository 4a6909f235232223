"""Drives the last two stages on the device: finalists on all cores, then the claims in fresh processes, compilers paused."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields, replace
from typing import Any

import numpy as np

from warpsmith.compile.pool import CompilePool
from warpsmith.core.configuration import Configuration
from warpsmith.core.errors import BaselineError
from warpsmith.core.outcome import Crashed, Evaluation, LaunchFailed, Verdict
from warpsmith.devices.base import DeviceInfo
from warpsmith.measure.bench import Bench, Candidate
from warpsmith.measure.disturbance import Disturbance
from warpsmith.measure.policy import CHOICE, CLAIM, Pace, is_to_be_repeated
from warpsmith.measure.roofline import Roofline, make_roofline
from warpsmith.measure.scrub import make_scrubber
from warpsmith.measure.statistics import weighted_mean
from warpsmith.record.result import Claim, Claims, Evidence, Overall, ShapeEntry, Uncertain
from warpsmith.settings import claim_processes
from warpsmith.tuning.claims import finalists
from warpsmith.tuning.claims.above import AboveRoof
from warpsmith.tuning.claims.endurance import lasts
from warpsmith.tuning.claims.finalists import Shortlist, Winners
from warpsmith.tuning.claims.interleaved import ProcessMeasurement, Speedups, TimeTable, measure_table
from warpsmith.tuning.claims.machine import machine_of
from warpsmith.tuning.claims.scrutiny import Scrutinised, Scrutiny
from warpsmith.tuning.evaluation.builder import Builder
from warpsmith.tuning.evaluation.profile import Profiler
from warpsmith.tuning.events import Emit, StageAdvanced, StageStarted, Warned
from warpsmith.tuning.result import Roof
from warpsmith.verify.prepared import PreparedWorkload

_HOW_ROOF = "probes with the same traffic and of multiply-adds, timed together with the claims"
_COLD, _WARM = "cold: flushed before each launch", "warm: back-to-back launches without flushing"


class _FinalistsFailed(Exception):  # noqa: N818 - control flow within this module
    """Verified before, but not to be trusted after all. None is named where they fail together, and each one alone does not."""

    def __init__(self, *configurations: Configuration) -> None:
        super().__init__(*map(str, configurations))
        self.configurations = configurations


def _claimed(choice: Winners, workload: str) -> tuple[Configuration, ...]:
    """The claim's key on that workload."""
    return tuple(dict.fromkeys((choice.general, choice.per_workload.get(workload, choice.general))))


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
        elsewhere: Callable[[Configuration], list[ShapeEntry]] | None = None,
    ) -> None:
        """`elsewhere` runs a configuration on shapes that the search did not know; what is wrong there loses its place."""
        self._builder = builder
        self._elsewhere = elsewhere
        self._seen_elsewhere: dict[Configuration, list[ShapeEntry]] = {}
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
        self._scrubber = make_scrubber(pool, info)
        self._counted: dict[str, Any] = {}
        self._above: AboveRoof[Configuration] | None = None
        self._unexplained = 0

    def claims(self, evaluations: Sequence[Evaluation]) -> Claims:
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
                    self._require_possible(choice, built, roofline, processes)
                    self._counted = {w: asdict(c) for w, c in self._profiler.of(built[choice.general]).items()}
                    return self._result(choice, processes)
            except _FinalistsFailed as failed:
                for configuration in failed.configurations:  # the others go on without
                    del built[configuration]

    @contextlib.contextmanager
    def _bench(self, roofline: Roofline | None = None) -> Iterator[Bench]:
        """A fresh process on all cores."""
        extra = roofline.prepared if roofline is not None else ()
        with Bench(self._device, [*self._prepared.values(), *extra], scrubber=self._scrubber) as bench:
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

    def _choose(self, listed: Shortlist, built: dict[Configuration, Candidate]) -> Winners:
        self._emit(StageStarted("finalists", len(self._weights)))
        tables: dict[str, TimeTable[Configuration]] = {}
        with self._bench() as bench:
            for configuration in list(built):
                if not self._verified_everywhere(bench, configuration, built[configuration]):
                    del built[configuration]
            for step, workload in enumerate(self._weights, start=1):
                tables[workload] = self._table(bench, workload, built, CHOICE)
                self._emit(StageAdvanced(step, workload))
        kept = Shortlist(
            tuple(c for c in listed.general if c in built),
            {w: tuple(c for c in some if c in built) for w, some in listed.per_workload.items()},
        )
        return finalists.choose(tables, kept, self._weights, self._default)

    def _scrutinise(self, choice: Winners, built: Mapping[Configuration, Candidate]) -> None:
        def subject(configuration: Configuration) -> Scrutinised:
            return Scrutinised(built[configuration], lambda: self._builder.build_watched(configuration, self._kernel.workloads))

        for configuration in dict.fromkeys((choice.general, *choice.per_workload.values())):
            original = subject(self._default)
            if configuration == self._default:
                continue
            self._require_right_elsewhere(configuration, built[configuration].name)
            if self._scrutiny.problem(subject(configuration), original) is not None:
                raise _FinalistsFailed(configuration)

    def _require_right_elsewhere(self, configuration: Configuration, name: str) -> None:
        if self._elsewhere is None:
            return
        if configuration not in self._seen_elsewhere:
            self._seen_elsewhere[configuration] = self._elsewhere(configuration)
        for entry in self._seen_elsewhere[configuration]:
            if not entry.passed:
                sizes = ", ".join(f"{size} = {n}" for size, n in entry.sizes.items())
                self._emit(Warned(f"{name} is dropped: wrong on an undeclared shape ({sizes}): {entry.reason}"))
                raise _FinalistsFailed(configuration)

    def _verified_everywhere(self, bench: Bench, configuration: Configuration, candidate: Candidate) -> bool:
        """On every declared workload: what ships must be right on the held-out shapes too."""
        for workload in self._prepared:
            verdict = bench.verify(candidate, workload)
            if configuration == self._default and isinstance(verdict, LaunchFailed | Crashed):
                verdict = bench.verify(candidate, workload)  # as in `original.twice`
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
    ) -> TimeTable[Configuration]:
        """Timed and still right: a kernel that behaves otherwise on its tenth launch than on its first is caught here."""
        original = self._default, candidates[self._default]
        table = measure_table(bench, workload, candidates, original, pace, self._rng)
        if isinstance(table, TimeTable):
            return table
        raise _FinalistsFailed(*table) if table is not None else self._reason(workload, candidates)

    def _reason(self, workload: str, candidates: Mapping[Configuration, Candidate]) -> Exception:
        """Why a table could not be measured: who does not last by itself, or all but the original if it happens again."""
        original = candidates[self._default]
        failing = [c for c, candidate in candidates.items() if not self._lasts(candidate, workload, original)]
        suspects = [c for c in candidates if c != self._default]
        if self._default in failing or not suspects:
            return BaselineError(
                f"the original kernel fails or gives a wrong result, which it did not before, on workload {workload!r}"
            )
        if not failing:
            self._unexplained += 1
        return _FinalistsFailed(*(failing or (suspects if self._unexplained > 1 else ())))

    def _lasts(self, candidate: Candidate, workload: str, original: Candidate) -> bool:
        with self._bench() as bench:
            return lasts(bench, candidate, [self._prepared[workload]], original)

    # ── claiming ──

    def measure_in_fresh_processes(
        self, choice: Winners, built: Mapping[Configuration, Candidate], roofline: Roofline
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
                self._emit(
                    StageAdvanced(len(done), f"disturbed by other programs ({measured.others:.0%} of the cores): measuring again")
                )
                continue
            done.append(measured)
            self._emit(StageAdvanced(len(done)))
        return done

    def _one_process(
        self, choice: Winners, built: Mapping[Configuration, Candidate], roofline: Roofline
    ) -> ProcessMeasurement[Configuration]:
        with self._bench(roofline) as bench:
            disturbance = Disturbance(None, [bench.start()])
            tables = {}
            for workload in self._prepared:
                wanted = {self._default, *_claimed(choice, workload)}
                lanes = {c: built[c] for c in built if c in wanted}
                tables[workload] = self._table(bench, workload, lanes, CLAIM)
            reading = bench.reading()
            probed = roofline.probed(bench, self._rng)
            return ProcessMeasurement(tables, roofline.roof_us(probed), disturbance.others(), reading, probed)

    def _require_possible(
        self,
        choice: Winners,
        built: Mapping[Configuration, Candidate],
        roofline: Roofline,
        processes: Sequence[ProcessMeasurement[Configuration]],
    ) -> None:
        """What is faster than the machine, also when it is measured again, is somebody's mistake: it loses its place."""
        if self._above is None:
            original = self._default, built[self._default]
            self._above = AboveRoof(self._device, self._info, roofline, self._prepared, original, _itself, self._rng)
        claimed = {w: [c for c in _claimed(choice, w) if c != self._default] for w in self._prepared}
        refused = self._above.refused(claimed, processes, lambda: self.measure_in_fresh_processes(choice, built, roofline))
        if refused is not None:
            entry = self._above.entries[-1]
            where = f"{entry.roofline_fraction:.0%} of the roofline on {entry.workload}, measured twice"
            self._emit(Warned(f"{built[refused].name} is dropped: {where}: {entry.reason}"))
            raise _FinalistsFailed(refused)

    # ── reporting ──

    def _result(self, choice: Winners, processes: Sequence[ProcessMeasurement[Configuration]]) -> Claims:
        speedups = Speedups(processes, self._default, self._rng)
        chosen, as_fast, choice = choice.general, choice.as_fast, finalists.certain(choice, speedups, self._weights)
        known = [w for w in processes[0].roof_us if all(w in p.roof_us for p in processes)]
        roof = Roof({w: float(np.median([p.roof_us[w] for p in processes])) for w in known})
        above = self._above.entries if self._above is not None else ()
        return Claims(
            baseline=self._overall(self._default, speedups, roof),
            general=self._overall(choice.general, speedups, roof),
            uncertain=None if chosen == choice.general else self._uncertain(chosen, speedups, roof),
            per_workload=self._each(choice.per_workload, speedups, roof),
            heldout=self._each({w.name: choice.general for w in self._kernel.heldout_workloads}, speedups, roof),
            roofline=replace(machine_of(processes), roof_us=roof.us, how=_HOW_ROOF, above=tuple(above)),
            evidence=replace(self._evidence(chosen, processes), as_fast=tuple(dict(c.pairs) for c in as_fast)),
        )

    def _evidence(self, chosen: Configuration, processes: Sequence[ProcessMeasurement[Configuration]]) -> Evidence:
        others = [p.others for p in processes if p.others is not None]
        return Evidence(
            processes=len(processes),
            process_spread=round(finalists.spread_between_processes(chosen, processes, self._weights), 4),
            others_share=round(max(others), 3) if others else None,
            oracle="the NumPy reference" if self._kernel.reference.file else "the original kernel",
            passed_by_zeros={name: tuple(found) for name, ready in self._prepared.items() if (found := ready.passed_by_zeros())},
            readings=tuple(p.reading for p in processes if p.reading is not None),
            checks=self._scrutiny.entry,
            elsewhere=tuple(replace(entry, config=c) for c, some in self._seen_elsewhere.items() for entry in some),
            counters=self._counted,
            cache=_COLD if self._info.empties_caches else _WARM,
        )

    def _uncertain(self, chosen: Configuration, speedups: Speedups[Configuration], roof: Roof) -> Uncertain:
        """The general configuration if its gain were significant."""
        overall = self._overall(chosen, speedups, roof)
        heldout = {w.name: chosen for w in self._kernel.heldout_workloads}
        own = {f.name: getattr(overall, f.name) for f in fields(overall)}
        return Uncertain(**own, heldout=self._each(heldout, speedups, roof))

    def _each(
        self, configurations: Mapping[str, Configuration], speedups: Speedups[Configuration], roof: Roof
    ) -> dict[str, Claim]:
        return {w: self._claim(w, c, speedups, roof) for w, c in configurations.items()}

    def _overall(self, configuration: Configuration, speedups: Speedups[Configuration], roof: Roof) -> Overall:
        """One configuration over all tuning workloads: weighted geometric means, with the workloads beneath."""
        workloads = self._each(dict.fromkeys(self._weights, configuration), speedups, roof)
        speedup = speedups.over(self._weights, configuration)
        medians = {w: speedups.median_us(w, configuration) for w in self._weights}
        fractions = {w: found for w, claim in workloads.items() if (found := claim.roofline_fraction) is not None}
        known = len(fractions) == len(workloads)
        first = self._verdicts[configuration, next(iter(self._weights))]
        return Overall(
            config=configuration,
            median_us=round(weighted_mean(medians, self._weights), 3),
            speedup=round(speedup.value, 4),
            ci95=(round(speedup.low, 4), round(speedup.high, 4)),
            roofline_fraction=round(weighted_mean(fractions, self._weights), 4) if known else None,
            verified=all(claim.verified for claim in workloads.values()),
            max_error=first.max_error,
            workloads=workloads,
        )

    def _claim(self, workload: str, configuration: Configuration, speedups: Speedups[Configuration], roof: Roof) -> Claim:
        median_us = speedups.median_us(workload, configuration)
        speedup = speedups.over({workload: 1.0}, configuration)
        verdict = self._verdicts[configuration, workload]
        return Claim(
            config=configuration,
            median_us=round(median_us, 3),
            speedup=round(speedup.value, 4),
            ci95=(round(speedup.low, 4), round(speedup.high, 4)),
            roofline_fraction=roof.fraction(workload, median_us),
            verified=verdict.passed,
            max_error=verdict.max_error,
            baseline_us=round(speedups.median_us(workload, speedups.default), 3),
        )


def _itself(configuration: Configuration) -> Configuration:
    return configuration
