"""Has a device's checkers watch the chosen configurations: what they find there and not in the original costs them their place.

Outputs can be right although a thread read past an array or two threads raced for a word: on another GPU, or another day, they
are not. Devices without checkers, or whose checkers are not installed, change nothing; the second is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from warpsmith.core.errors import UnavailableError
from warpsmith.devices.base import CheckReport, HasChecks
from warpsmith.devices.registry import load_device
from warpsmith.measure.bench import Candidate
from warpsmith.measure.checks import checked
from warpsmith.tuning.events import Emit, StageAdvanced, StageStarted, Warned
from warpsmith.verify.prepared import PreparedWorkload


class Scrutiny:
    """Of one run's finalists. Nothing is checked twice."""

    def __init__(self, name: str, workloads: Sequence[PreparedWorkload], emit: Emit, device: HasChecks | None = None) -> None:
        found = device or load_device(name)
        self._device = found if isinstance(found, HasChecks) else None
        self._name = name
        self._workloads = tuple(workloads)
        self._emit = emit
        self._reports: dict[tuple[str, str], CheckReport] = {}
        self._found: dict[str, str] = {}
        self._missing: str | None = None

    def problem(self, candidate: Candidate, original: Candidate) -> str | None:
        """What a check found in the candidate and not in the original; None if there is nothing, or nobody to look."""
        if self._device is None or self._missing is not None:
            return None
        self._emit(StageStarted("checks", len(self._device.checks)))
        for step, check in enumerate(self._device.checks, start=1):
            self._emit(StageAdvanced(step, f"{check}: {candidate.name}"))
            try:
                accepted, found = self._report(check, original), self._report(check, candidate)
            except UnavailableError as error:
                self._missing = error.message
                self._emit(Warned(f"what was chosen is not checked: {error.message}; hint: {error.hint}"))
                return None
            if found.problems and not accepted.problems:
                self._found[candidate.name] = f"{check}: {found.problems[0]}"
                self._emit(Warned(f"{candidate.name} is out: {self._found[candidate.name]}"))
                return self._found[candidate.name]
        return None

    @property
    def entry(self) -> dict[str, Any] | None:
        """Of the run's evidence: which checks were made, what cost whom its place, and why some could not be made."""
        if self._device is None or not (self._reports or self._missing):
            return None
        failures = [self._missing, *(report.failure for report in self._reports.values())]
        done = dict.fromkeys(check for (check, _), report in self._reports.items() if report.failure is None)
        return {"done": list(done), "out": dict(self._found), "not_done": [why for why in dict.fromkeys(failures) if why]}

    def _report(self, check: str, candidate: Candidate) -> CheckReport:
        assert self._device is not None
        key = (check, candidate.identity)
        if key not in self._reports:
            report = checked(self._device, self._name, check, candidate, self._workloads)
            self._reports[key] = report
            if report.failure is not None:
                self._emit(Warned(f"{check} could not watch {candidate.name}: {report.failure}"))
        return self._reports[key]
