"""Runs a candidate under a device's checker: one worker per check, one launch per workload, with deadlines."""

from __future__ import annotations

from collections.abc import Sequence

from warpsmith.core.errors import UnavailableError
from warpsmith.devices.base import CheckReport, HasChecks
from warpsmith.measure.bench import Bench, Candidate
from warpsmith.measure.policy import CHECKED_DEADLINE_S, REPORT_DEADLINE_S
from warpsmith.verify.prepared import PreparedWorkload


def checked(device: HasChecks, name: str, check: str, candidate: Candidate, workloads: Sequence[PreparedWorkload]) -> CheckReport:
    """Findings of the check for the candidate on these workloads. Raises UnavailableError if the checker is not installed."""
    with Bench(name, workloads, launch_deadline_s=CHECKED_DEADLINE_S, checker=device.check_command(check)) as bench:
        for workload in workloads:
            try:
                ran = bench.run_once(candidate, workload.name)
            except UnavailableError as error:
                return CheckReport(failure=f"under {check} the device does not open: {error.message}")
            if not isinstance(ran, int):
                return CheckReport(failure=f"{ran.reason} (under {check}, workload {workload.name!r})")
        return device.check_report(bench.checked(REPORT_DEADLINE_S))
