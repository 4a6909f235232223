"""Runs a watched candidate: workloads are launched once each, block by block, and what threads do to each other is told."""

from __future__ import annotations

import time
from collections.abc import Sequence

from warpsmith.core.outcome import LaunchFailed
from warpsmith.devices.base import CheckReport, Device, RaceFound, watches
from warpsmith.measure.bench import Bench, Candidate
from warpsmith.measure.candidates import BuildOutcome
from warpsmith.measure.checks import LAUNCH_DEADLINE_S
from warpsmith.settings import are_races_checked
from warpsmith.verify.prepared import PreparedWorkload, smallest_first

RACECHECK = "racecheck"  # as NVIDIA's tool calls its own
_ENOUGH_S = 30.0


def are_looked_for(device: Device) -> bool:
    """Whether the device watches, and nobody said that it should not."""
    return watches(device) and are_races_checked()


def races(device: str, watched: BuildOutcome, workloads: Sequence[PreparedWorkload]) -> CheckReport:
    """Of what was compiled from watched requests, on a device that `Watches`.

    The smallest workloads first, as many as there is time for: races rarely need large ones.
    """
    if not isinstance(watched, Candidate):
        return CheckReport(failure=f"it does not compile to be watched: {watched.reason}")
    began = time.monotonic()
    with Bench(device, workloads, compute_units=1, launch_deadline_s=LAUNCH_DEADLINE_S) as bench:
        for number, workload in enumerate(smallest_first(workloads)):
            if number and time.monotonic() - began > _ENOUGH_S:
                break
            ran = bench.run_once(watched, workload.name)
            if isinstance(ran, LaunchFailed) and ran.reason.startswith(RaceFound.PREFIX):
                return CheckReport(problems=(f"{ran.reason.removeprefix(RaceFound.PREFIX)} (workload {workload.name!r})",))
            if not isinstance(ran, int):
                return CheckReport(failure=f"{ran.reason} (watched, workload {workload.name!r})")
    return CheckReport()
