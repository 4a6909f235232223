"""Runs a watched candidate: each workload once, block by block, with one report per checker."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from warpsmith.core.outcome import LaunchFailed
from warpsmith.devices.base import INITCHECK, MEMCHECK, RACECHECK, CheckReport, ChecksFailed, Device, watches
from warpsmith.measure.bench import Bench, Candidate
from warpsmith.measure.candidates import BuildOutcome
from warpsmith.measure.policy import CHECKED_DEADLINE_S, WATCHED_S
from warpsmith.settings import are_races_checked
from warpsmith.verify.prepared import PreparedWorkload, smallest_first

WATCHED_CHECKS = (RACECHECK, MEMCHECK, INITCHECK)


def is_watched_on(device: Device) -> bool:
    """Whether the device can watch, and watching was not switched off."""
    return watches(device) and are_races_checked()


def watch(device: str, watched: BuildOutcome, workloads: Sequence[PreparedWorkload]) -> Mapping[str, CheckReport]:
    """A report for each of WATCHED_CHECKS, for requests compiled to be watched on a device that `Watches`.

    Runs the smallest workloads first, as many as time allows: such bugs rarely need large ones.
    """
    if not isinstance(watched, Candidate):
        return _all(CheckReport(failure=f"does not compile with instrumentation: {watched.reason}"))
    began = time.monotonic()
    problems: dict[str, tuple[str, ...]] = {}
    with Bench(device, workloads, compute_units=1, launch_deadline_s=CHECKED_DEADLINE_S) as bench:
        for number, workload in enumerate(smallest_first(workloads)):
            if number and time.monotonic() - began > WATCHED_S:
                break
            ran = bench.run_once(watched, workload.name)
            found = ChecksFailed.read(ran.reason) if isinstance(ran, LaunchFailed) else None
            if found is not None:
                problems = {check: (f"{text} (workload {workload.name!r})",) for check, text in found.items()} | problems
            elif not isinstance(ran, int):
                unseen = CheckReport(failure=f"{ran.reason} (watched, workload {workload.name!r})")
                return {check: CheckReport(problems[check]) if check in problems else unseen for check in WATCHED_CHECKS}
    return {check: CheckReport(problems.get(check, ())) for check in WATCHED_CHECKS}


def _all(report: CheckReport) -> Mapping[str, CheckReport]:
    return dict.fromkeys(WATCHED_CHECKS, report)
