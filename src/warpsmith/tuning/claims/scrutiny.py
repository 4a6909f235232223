"""Runs a device's checkers on the chosen configurations; findings that the original does not have reject a configuration.

Outputs can be right although a thread read past an array or two threads raced for a word: on another GPU, or another day, they
are not. Devices without checkers, or whose checkers are not installed, change nothing; the second is said.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from warpsmith.core.errors import UnavailableError
from warpsmith.devices.base import CheckReport, Device, HasChecks
from warpsmith.devices.registry import load_device
from warpsmith.measure.bench import Candidate
from warpsmith.measure.candidates import BuildOutcome
from warpsmith.measure.checks import checked
from warpsmith.measure.watching import WATCHED_CHECKS, is_watched_on, watch
from warpsmith.record.result import ChecksEntry
from warpsmith.tuning.events import Emit, StageAdvanced, StageStarted, Warned
from warpsmith.verify.prepared import PreparedWorkload


@dataclass(frozen=True, slots=True)
class Scrutinised:
    """A candidate, and how it is compiled so that a device can watch it."""

    candidate: Candidate
    watched: Callable[[], BuildOutcome]


class Scrutiny:
    """Of one run's finalists. Nothing is checked twice."""

    def __init__(
        self, name: str, workloads: Sequence[PreparedWorkload], emit: Emit, device: Device | HasChecks | None = None
    ) -> None:
        device = device or load_device(name)
        self._checks = _checks(name, tuple(workloads), device)
        self._is_one_series = not isinstance(device, HasChecks)
        self._emit = emit
        self._reports: dict[tuple[str, str], CheckReport] = {}
        self._found: dict[str, str] = {}
        self._accepted: dict[str, str] = {}
        self._missing: str | None = None
        self._unseen: dict[str, None] = {}  # what could not be watched, and why
        self._incomplete: set[str] = set()  # checks that did not see all that was chosen

    def problem(self, subject: Scrutinised, original: Scrutinised) -> str | None:
        """What a check found in the candidate and not in the original; None if there is nothing, or nobody to look."""
        if not self._checks or self._missing is not None:
            return None
        name = subject.candidate.name
        self._emit(StageStarted("checks", len(self._checks)))
        for step, check in enumerate(self._checks, start=1):
            self._emit(StageAdvanced(step, f"{check}: {name}"))
            try:
                accepted, found = self._report(check, original), self._report(check, subject)
            except UnavailableError as error:
                self._missing = error.message
                self._emit(Warned(f"the winner is not checked: {error.message}; hint: {error.hint}"))
                return None
            if found.failure is not None:
                self._incomplete.add(check)
            if accepted.problems:
                self._accept(check, accepted.problems[0])
            elif found.problems:
                self._found[name] = f"{check}: {found.problems[0]}"
                self._emit(Warned(f"{name} is dropped: {self._found[name]}"))
                return self._found[name]
        return None

    @property
    def entry(self) -> ChecksEntry | None:
        """Of the run's evidence: which checks were made, what cost whom its place, and why some could not be made."""
        if not (self._reports or self._missing):
            return None
        made = dict.fromkeys(check for (check, _), report in self._reports.items() if report.failure is None)
        return ChecksEntry(
            done=tuple(check for check in made if check not in self._incomplete),
            out=dict(self._found),
            original=dict(self._accepted),
            not_done=(*([self._missing] if self._missing else []), *self._unseen),
        )

    def _accept(self, check: str, problem: str) -> None:
        """What the original does is its author's to judge, who should hear of it."""
        if check not in self._accepted:
            self._accepted[check] = problem
            self._emit(Warned(f"the original does not pass {check} either, so it is not required of candidates: {problem}"))

    def _miss(self, check: str, name: str, failure: str) -> None:
        """Said once, where several checkers are one series of launches."""
        who = ", ".join(self._checks) if self._is_one_series else check
        unseen = f"{who} could not check {name}: {failure}"
        if unseen not in self._unseen:
            self._unseen[unseen] = None
            self._emit(Warned(unseen))

    def _report(self, check: str, subject: Scrutinised) -> CheckReport:
        key = (check, subject.candidate.identity)
        if key not in self._reports:
            report = self._checks[check](subject)
            self._reports[key] = report
            if report.failure is not None:
                self._miss(check, subject.candidate.name, report.failure)
        return self._reports[key]


def _checks(
    name: str, workloads: tuple[PreparedWorkload, ...], device: Device | HasChecks
) -> Mapping[str, Callable[[Scrutinised], CheckReport]]:
    if isinstance(device, HasChecks):
        return {check: partial(_under_checker, device, name, check, workloads) for check in device.checks}
    if not is_watched_on(device):
        return {}
    watching = _Watching(name, workloads)
    return {check: partial(watching.report, check) for check in WATCHED_CHECKS}


def _under_checker(
    device: HasChecks, name: str, check: str, workloads: tuple[PreparedWorkload, ...], subject: Scrutinised
) -> CheckReport:
    return checked(device, name, check, subject.candidate, workloads)


class _Watching:
    """One series of launches tells what all checkers have to say of a subject."""

    def __init__(self, name: str, workloads: tuple[PreparedWorkload, ...]) -> None:
        self._name = name
        self._workloads = workloads
        self._reports: dict[str, Mapping[str, CheckReport]] = {}

    def report(self, check: str, subject: Scrutinised) -> CheckReport:
        identity = subject.candidate.identity
        if identity not in self._reports:
            self._reports[identity] = watch(self._name, subject.watched(), self._workloads)
        return self._reports[identity][check]
