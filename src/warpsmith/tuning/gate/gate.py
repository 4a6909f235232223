"""The gate: every stored winner verified, timed beside its original and compiled for targets, against what was accepted."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from warpsmith.analysis import parse_target
from warpsmith.compile.pool import CompilePool
from warpsmith.core.errors import UnavailableError, WarpsmithError
from warpsmith.measure.policy import FALSE_ALARMS, GATE_TIMES_PROCESSES
from warpsmith.settings import Settings, claim_processes
from warpsmith.tuning.afterwards.verification import verify_builds, verify_configurations
from warpsmith.tuning.afterwards.verified import CheckStatus, Verification
from warpsmith.tuning.evaluation.cores import all_cores
from warpsmith.tuning.evaluation.targets import CompileTarget
from warpsmith.tuning.events import Emit, StageAdvanced, StageStarted
from warpsmith.tuning.gate.accepted import Baseline
from warpsmith.tuning.gate.compiled import compiled, got_worse, summary
from warpsmith.tuning.gate.judging import SpeedChange, change, suspects
from warpsmith.tuning.gate.result import GateOutcome, WinnerReport, change_text, figures_of, verdict
from warpsmith.tuning.gate.timing import ProcessFigures, Timing, timing_of
from warpsmith.tuning.gate.winners import Unusable, Winner
from warpsmith.verify.seeds import fresh_seeds

BESIDE = "beside the original"


@dataclass(frozen=True, slots=True)
class Demands:
    """`find` is the slowdown to detect, `tolerance` the largest that passes."""

    device: str = "cpu"
    targets: tuple[str, ...] = ()
    times: bool = True
    seeds: int = 1
    find: float = 0.05
    tolerance: float = 0.02


@dataclass(slots=True)
class Gated:
    """`accepting` is what `--update` writes, by winner: configuration, figures of the device, of the targets."""

    reports: list[WinnerReport] = field(default_factory=list)
    accepting: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = field(default_factory=dict)
    description: str | None = None

    @property
    def passed(self) -> bool:
        return all(report.passed for report in self.reports)


@dataclass(slots=True)
class _Timed:
    """One winner with its comparisons, by name: what was before, and now."""

    winner: Winner
    report: WinnerReport
    changes: dict[str, SpeedChange]
    seconds: float
    others: float  # the share of the cores that other programs took, now or when it was accepted


def gate(winners: Sequence[Winner | Unusable], baseline: Baseline, demands: Demands, settings: Settings, emit: Emit) -> Gated:
    """Raises UnavailableError where the device is not there; what is wrong with one winner is a failed check of its own."""
    return _Gate(baseline, demands, settings, emit).work(winners)


@dataclass(slots=True)
class _Gate:
    baseline: Baseline
    demands: Demands
    settings: Settings
    emit: Emit
    gated: Gated = field(default_factory=Gated)
    timed: list[_Timed] = field(default_factory=list)
    comparisons: int = 1  # that are asked in one go, at most

    def work(self, winners: Sequence[Winner | Unusable]) -> Gated:
        usable = [one for one in winners if isinstance(one, Winner)]
        self.comparisons = max(1, sum(1 + len(one.kernel.tuning_workloads) for one in usable))
        for one in winners:
            if isinstance(one, Unusable):
                report = WinnerReport(one.name, None, None)
                report.add("stored", GateOutcome.FAILED if one.is_wrong else GateOutcome.SKIPPED, one.problem)
                self.gated.reports.append(report)
                continue
            report = WinnerReport(one.name, one.kernel.name, dict(one.configuration.pairs))
            self.gated.reports.append(report)
            devices: dict[str, Any] = {}
            if self._is_right(one, report):
                devices = self._timed(one, report) if self.demands.times else {}
                targets = self._compiled(one, report)
                if all(check.name != "time" or check.outcome is not GateOutcome.FAILED for check in report.checks):
                    self.gated.accepting[one.name] = (dict(one.configuration.pairs), devices, targets)
        for name in sorted(self.baseline.winners.keys() - {one.name for one in winners}):
            report = WinnerReport(name, None, self.baseline.winners[name]["config"])
            report.add("stored", GateOutcome.FAILED, "it is in the baseline file, but no longer stored here")
            self.gated.reports.append(report)
        self._judge()
        return self.gated

    # ── right? ──

    def _is_right(self, winner: Winner, report: WinnerReport) -> bool:
        began = time.perf_counter()
        seeds = fresh_seeds(self.demands.seeds)
        device = self.demands.device
        with _failing(report, "verify", began):
            choices = winner.choices
            if winner.builds:
                found = verify_builds(choices, winner.builds, device, seeds=seeds, emit=self.emit)
            else:
                asked = {winner.configuration: ["winner"]}
                found = verify_configurations(choices, asked, device, seeds=seeds, emit=self.emit)
            self.gated.description = found.device_description
            outcome = GateOutcome.PASSED if found.passed else GateOutcome.FAILED
            report.add("verify", outcome, _said(found), seconds=time.perf_counter() - began)
        return report.passed

    # ── as fast? ──

    def _timed(self, winner: Winner, report: WinnerReport) -> dict[str, Any]:
        began = time.perf_counter()
        processes = claim_processes()
        found: dict[str, Any] = {}
        with (
            _failing(report, "time", began),
            timing_of(winner, self.demands.device, binary_cache=self.settings.binary_cache) as timing,
        ):
            description = timing.stand.info.description
            before = self.baseline.figures(winner.name, description)
            figures = self._measured(timing, processes, winner.name)
            while before is not None and len(next(iter(figures.speedup_logs.values()))) < GATE_TIMES_PROCESSES * processes:
                if all(self._smallest(c) <= self.demands.find for c in self._changes(winner, before, figures).values()):
                    break
                figures.extend(self._measured(timing, max(1, processes // 2), winner.name))
            seconds = time.perf_counter() - began
            others = max(figures.others_share, 0.0 if before is None else before["others_share"])
            self.timed.append(_Timed(winner, report, self._changes(winner, before, figures), seconds, others))
            if before is None:
                other = self.baseline.configuration(winner.name) is not None
                why = f"no baseline for {description} yet" if other else "no baseline yet"
                report.add("time", GateOutcome.NEW, f"{why}: --update adds it", seconds=seconds)
            found[description] = {
                "original": winner.original,
                "speedup_logs": _rounded(figures.speedup_logs),
                "speed_logs": _rounded(figures.speed_logs),
                "others_share": round(figures.others_share, 3),
            }
        return found

    def _measured(self, timing: Timing, processes: int, name: str) -> ProcessFigures:
        self.emit(StageStarted("gate", processes))
        return timing.measured(processes, lambda done: self.emit(StageAdvanced(done, name)))

    def _changes(self, winner: Winner, before: Any, figures: ProcessFigures) -> dict[str, SpeedChange]:
        """By workload against what was accepted, and over all of them against the original."""
        found: dict[str, SpeedChange | None] = {}
        if before is not None:
            # Beside the original the machine's mood cancels; another original is no measure, so times themselves have to do.
            key = "speedup_logs" if before["original"] == winner.original else "speed_logs"
            accepted, now = before[key], getattr(figures, key)
            found = {f"time: {w}": change(accepted[w], now[w]) for w in now if w in accepted}
        weights = {w.name: w.weight for w in winner.kernel.tuning_workloads}
        total = sum(weights.values())
        processes = zip(*(figures.speedup_logs[w] for w in weights), strict=True)
        shares = [weight / total for weight in weights.values()]
        overall = [sum(share * log for share, log in zip(shares, logs, strict=True)) for logs in processes]
        found[BESIDE] = change(None, overall)
        return {name: seen for name, seen in found.items() if seen is not None}

    def _smallest(self, seen: SpeedChange) -> float:
        return seen.smallest(FALSE_ALARMS / self.comparisons)

    def _judge(self) -> None:
        """All winners together; who seems slower is measured once more, and has to be slower again."""
        changes = {f"{place}/{name}": seen for place, one in enumerate(self.timed) for name, seen in one.changes.items()}
        suspected = suspects(changes, self.demands.tolerance)
        for place, one in enumerate(self.timed):
            doubtful = {name for name in one.changes if f"{place}/{name}" in suspected}
            again = {n: c for n, c in self._again(one).items() if n in doubtful} if doubtful else {}
            for name, seen in one.changes.items():
                second = again.get(name)
                shown = second or seen
                smallest = self._smallest(shown)
                outcome, words = GateOutcome.PASSED, change_text(shown, smallest)
                if second is not None:
                    outcome, more = verdict(second, self.demands.tolerance, one.others)
                    words = f"{words}; {more}"
                one.report.add(name, outcome, words, figures_of(shown, smallest), one.seconds / len(one.changes))

    def _again(self, one: _Timed) -> dict[str, SpeedChange]:
        winner = one.winner
        try:
            with timing_of(winner, self.demands.device, binary_cache=self.settings.binary_cache) as timing:
                before = self.baseline.figures(winner.name, timing.stand.info.description)
                count = claim_processes()
                return self._changes(winner, before, self._measured(timing, count, f"{winner.name}, once more"))
        except UnavailableError:
            raise
        except WarpsmithError as error:
            one.report.add("time", GateOutcome.FAILED, str(error))
            return {}

    # ── compiled for others? ──

    def _compiled(self, winner: Winner, report: WinnerReport) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name in self.demands.targets:
            began = time.perf_counter()
            with _failing(report, f"compiled: {name}", began), ExitStack() as stack:
                target = parse_target(name)
                cache = self.settings.binary_cache
                folders = winner.kernel.folders
                pool = stack.enter_context(CompilePool(target.device, workers=all_cores(), cache_dir=cache, folders=folders))
                target.require_language(winner.kernel.language, pool.describe().languages)
                now = compiled(winner, CompileTarget(target, pool))
                if now["outcome"] == "compiled":
                    found[name] = now
                self._compare(report, name, now, self.baseline.target(winner.name, name), time.perf_counter() - began)
        return found

    def _compare(self, report: WinnerReport, name: str, now: dict[str, Any], before: Any, seconds: float) -> None:
        check = f"compiled: {name}"
        if now["outcome"] != "compiled":
            report.add(check, GateOutcome.FAILED, f"{now['outcome']}: {now['reason']}", {"compiled": now}, seconds)
        elif before is None:
            report.add(check, GateOutcome.NEW, f"{summary(now)}; no baseline yet", {"compiled": now}, seconds)
        else:
            worse = got_worse(before, now)
            changed = "" if now["versions"] == before["versions"] else "; the compiler differs from the baseline's"
            more = f" (accepted: {before['registers']} registers)" if now["registers"] != before["registers"] else ""
            words = (", ".join(worse) or f"{summary(now)}{more}") + changed
            report.add(check, GateOutcome.FAILED if worse else GateOutcome.PASSED, words, {"compiled": now}, seconds)


@contextlib.contextmanager
def _failing(report: WinnerReport, check: str, began: float) -> Iterator[None]:
    """What is wrong with a winner is a failed check; what this machine lacks is everybody's."""
    try:
        yield
    except UnavailableError:
        raise
    except WarpsmithError as error:
        report.add(check, GateOutcome.FAILED, str(error), seconds=time.perf_counter() - began)


def _said(found: Verification) -> str:
    failed = next((check for check in found.checks if check.status is CheckStatus.FAILED), None)
    if failed is not None:
        return f"{failed.subject} on {failed.workload}: {failed.reason}"
    watched = next((seen for seen in found.watched if seen.status is CheckStatus.FAILED), None)
    if watched is not None:
        return f"{watched.subject}: {watched.check}: {watched.reason}"
    passed = sum(check.status is CheckStatus.PASSED for check in found.checks)
    return f"{passed} checks against {found.oracle}, with fresh inputs"


def _rounded(logs: dict[str, list[float]]) -> dict[str, list[float]]:
    return {workload: [round(value, 6) for value in some] for workload, some in logs.items()}
