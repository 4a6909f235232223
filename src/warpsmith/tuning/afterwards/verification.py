"""Verifies a run's winners and the original again, on every workload with fresh inputs.

The bench verifies, as it does for a search (`measure.bench`); this goes through what is to be verified and says what came of it.
A configuration that is wrong is a result here, not an error.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from warpsmith.core.configuration import Configuration
from warpsmith.core.outcome import CompileFailed, Crashed, Infeasible, LaunchFailed, TimedOut, Verdict
from warpsmith.devices.base import CheckReport
from warpsmith.export.base import Build
from warpsmith.measure.bench import Bench, Candidate
from warpsmith.measure.watching import WATCHED_CHECKS, is_watched_on, watch
from warpsmith.record.required import require_result
from warpsmith.record.result import Figures
from warpsmith.record.run import RunRecord
from warpsmith.spec.kernel import Kernel, Workload
from warpsmith.tuning.afterwards.choices import RunChoices
from warpsmith.tuning.afterwards.recheck import adversaries_of
from warpsmith.tuning.afterwards.stand import Stand, stand_for
from warpsmith.tuning.afterwards.verified import (
    CheckStatus,
    SubjectKind,
    Verification,
    VerifiedSubject,
    WatchedCheck,
    WorkloadCheck,
)
from warpsmith.tuning.evaluation.original import judge_original
from warpsmith.tuning.evaluation.second_opinion import Doubt, SecondOpinion
from warpsmith.tuning.events import Emit, StageAdvanced, StageStarted, ignore
from warpsmith.verify.prepared import PreparedWorkload, smallest_first

DEFAULT_SEEDS = 3

Judged: TypeAlias = Verdict | Infeasible | CompileFailed | LaunchFailed | Crashed | TimedOut


def winners_of(record: RunRecord, kernel: Kernel) -> dict[Configuration, list[str]]:
    """Each configuration's role in the run's result: `general`, `uncertain`, `for WORKLOAD`. Raises InputError without one."""
    result = require_result(record, "to verify")
    chosen: list[tuple[str, Figures | None]] = [("general", result.general), ("uncertain", result.uncertain)]
    chosen += [(f"for {workload}", entry) for workload, entry in result.per_workload.items()]
    found: dict[Configuration, list[str]] = {}
    for name, entry in chosen:
        if entry is not None:
            values = {p.name: entry.config.get(p.name, p.default) for p in kernel.parameters}
            found.setdefault(Configuration.of(values), []).append(name)
    return found


def verify_configurations(
    choices: RunChoices,
    configurations: Mapping[Configuration, Sequence[str]],
    device: str,
    *,
    seeds: Sequence[int],
    adversaries: Sequence[Workload] = (),
    emit: Emit = ignore,
) -> Verification:
    """Recompiles them and the original. `choices` are the run's candidates."""
    with stand_for(choices, device, binary_cache=None) as stand:
        builder = stand.builder(choices)
        feasible = choices.feasible(stand.info.limits)
        declared = [workload.name for workload in stand.plain.workloads]
        subjects = []
        for configuration, names in configurations.items():
            allowed = [w.name for w in adversaries if feasible.allows(builder.binder.names(configuration, w))]
            workloads = frozenset([*declared, *allowed])
            subjects.append(VerifiedSubject(", ".join(names), configuration, builder, configuration, workloads))
        return _Verifying(stand, choices.kernel, subjects, adversaries, emit).on(seeds)


def verify_builds(
    choices: RunChoices,
    builds: Sequence[Build],
    device: str,
    *,
    seeds: Sequence[int],
    adversaries: Sequence[Workload] = (),
    emit: Emit = ignore,
) -> Verification:
    """As `verify_configurations`, of files that were exported: each on the workloads that it is for."""
    with stand_for(choices, device, binary_cache=None) as stand:
        subjects = []
        for place, build in enumerate(builds):
            builder = stand.builder_of_export(build)
            allowed = [w.name for w in adversaries_of(build, choices, stand, adversaries)]
            name = "general" if place == 0 else ", ".join(f"for {workload}" for workload in build.workloads)
            default = builder.binder.kernel.default_configuration
            workloads = frozenset([*build.workloads, *allowed])
            subjects.append(VerifiedSubject(name, build.configuration, builder, default, workloads, build.file.name))
        return _Verifying(stand, choices.kernel, subjects, adversaries, emit).on(seeds)


class _Verifying:
    def __init__(
        self, stand: Stand, kernel: Kernel, subjects: Sequence[VerifiedSubject], adversaries: Sequence[Workload], emit: Emit
    ) -> None:
        self._stand = stand
        plain, default = stand.plain, kernel.default_configuration
        self._workloads = [(w, SubjectKind.HELDOUT if w.heldout else SubjectKind.TUNING) for w in plain.workloads]
        self._workloads += [(w, SubjectKind.ADVERSARIAL) for w in adversaries]
        self._builder = stand.builder_of_original
        # A winner that is the original is verified once, as such; an exported file of it is another text.
        same = [s for s in subjects if s.configuration == default and s.source is None]
        name = ", ".join(["original", *(s.name for s in same)])
        everywhere = frozenset(workload.name for workload, _ in self._workloads)
        self._original = VerifiedSubject(name, default, self._builder, plain.default_configuration, everywhere)
        self._others = [s for s in subjects if s not in same]
        self._hanging: set[tuple[str, str]] = set()  # subjects and workloads
        self._may_be_doubted = True  # the original, until inputs of one seed gave no reason to
        self._emit = emit

    def on(self, seeds: Sequence[int]) -> Verification:
        self._prefetch()
        steps = len(seeds) * len(self._workloads) * (1 + len(self._others))
        self._emit(StageStarted("verify", steps))
        checks: list[WorkloadCheck] = []
        for seed in seeds:
            for check in self._of_seed(seed):
                checks.append(check)
                self._emit(StageAdvanced(len(checks), f"{check.subject} on {check.workload}, seed {seed}: {check.status}"))
        info = self._stand.info
        subjects, found = (self._original, *self._others), tuple(checks)
        watched = tuple(self._watched(seeds[0])) if is_watched_on(self._stand.pool.device) else ()
        return Verification(self._stand.device, info.description, self._stand.oracle, tuple(seeds), subjects, found, watched)

    def _watched(self, seed: int) -> Iterator[WatchedCheck]:
        subjects = (self._original, *self._others)
        self._emit(StageStarted("checks", len(subjects)))
        accepted: set[str] = set()
        for step, subject in enumerate(subjects, start=1):
            self._emit(StageAdvanced(step, subject.name))
            for check, report in self._reports(subject, seed).items():
                problem = report.problems[0] if report.problems else None
                if report.failure is not None:
                    status, reason = CheckStatus.SKIPPED, f"not checked: {report.failure}"
                elif problem is None:
                    status, reason = CheckStatus.PASSED, ""
                elif subject is self._original and self._others:
                    accepted.add(check)
                    status, reason = CheckStatus.SKIPPED, f"also in the original: {problem}"
                elif check in accepted:
                    status, reason = CheckStatus.SKIPPED, f"the original fails too: {problem}"
                else:
                    status, reason = CheckStatus.FAILED, problem
                yield WatchedCheck(subject.name, check, status, reason)

    def _reports(self, subject: VerifiedSubject, seed: int) -> Mapping[str, CheckReport]:
        """On workloads where it came to an end: watched, it takes far longer, and what hangs would do so until the deadline."""
        workloads = [w for w, _ in self._workloads if w.name in subject.workloads]
        ending = [w for w in workloads if (subject.name, w.name) not in self._hanging]
        if not ending:
            return dict.fromkeys(WATCHED_CHECKS, CheckReport(failure="every launch timed out"))
        with self._stand.prepared((workload, seed) for workload in ending) as prepared:
            watched = subject.builder.build_watched(subject.built, ending)
            return watch(self._stand.device, watched, list(prepared.values()))

    def _prefetch(self) -> None:
        """Several compilers work while the first inputs are made."""
        for subject in (self._original, *self._others):
            subject.builder.prefetch(subject.built, [w for w, _ in self._workloads if w.name in subject.workloads])

    def _of_seed(self, seed: int) -> Iterator[WorkloadCheck]:
        """In a separate process."""
        with self._stand.bench((workload, seed) for workload, _ in self._workloads) as (bench, prepared):
            judged = {name: judge_original(self._builder, bench, ready) for name, ready in prepared.items()}
            doubts = self._doubts(bench, prepared, judged) if self._may_be_doubted else {}
            self._may_be_doubted = bool(doubts)
            for workload, kind in self._workloads:
                original = self._check(self._original, workload, kind, seed, judged[workload.name])
                if (doubt := doubts.get(workload.name)) is not None:
                    reason = "; ".join(filter(None, (original.reason, doubt.reason)))
                    original = replace(original, status=CheckStatus.FAILED, reason=reason)
                has_oracle = original.status is CheckStatus.PASSED or self._stand.plain.reference.file is not None
                if kind is SubjectKind.ADVERSARIAL and original.status is CheckStatus.FAILED:
                    # A tester's inputs only count where the original can do them: here it says nothing about anybody.
                    reason = f"the original is wrong on these inputs: {original.reason}"
                    has_oracle, original = (
                        False,
                        WorkloadCheck(original.subject, workload.name, kind, seed, CheckStatus.SKIPPED, None, reason),
                    )
                yield original
                for subject in self._others:
                    if workload.name not in subject.workloads:
                        reason = "it is not dispatched to this workload" if subject.source else "a constraint excludes it"
                        yield WorkloadCheck(subject.name, workload.name, kind, seed, CheckStatus.SKIPPED, None, reason)
                    elif not has_oracle:
                        reason = "no reference: the original is wrong there"
                        yield WorkloadCheck(subject.name, workload.name, kind, seed, CheckStatus.SKIPPED, None, reason)
                    else:
                        yield self._check(subject, workload, kind, seed, _judge(subject, bench, prepared[workload.name]))

    def _check(self, subject: VerifiedSubject, workload: Workload, kind: SubjectKind, seed: int, judged: Judged) -> WorkloadCheck:
        if isinstance(judged, TimedOut):
            self._hanging.add((subject.name, workload.name))
        if not isinstance(judged, Verdict):
            reason = f"{type(judged).__name__}: {judged.reason}"
            return WorkloadCheck(subject.name, workload.name, kind, seed, CheckStatus.FAILED, None, reason)
        wrong = judged.failure
        reason = f"{wrong.argument}: {wrong.problem}" if wrong is not None else ""
        status = CheckStatus.PASSED if judged.passed else CheckStatus.FAILED
        return WorkloadCheck(subject.name, workload.name, kind, seed, status, judged, reason)

    def _doubts(self, bench: Bench, prepared: Mapping[str, PreparedWorkload], judged: Mapping[str, Judged]) -> dict[str, Doubt]:
        """What a second opinion has against what was judged of the original, but not on a tester's inputs."""
        second_opinion = SecondOpinion(self._builder, bench)
        declared = [prepared[workload.name] for workload, kind in self._workloads if kind is not SubjectKind.ADVERSARIAL]
        found: dict[str, Doubt] = {}
        for ready in smallest_first(declared):
            verdict = judged[ready.name]
            doubt = second_opinion.on(ready, verdict) if isinstance(verdict, Verdict) else None
            if doubt is not None:
                found[ready.name] = doubt
        return found


def _judge(subject: VerifiedSubject, bench: Bench, prepared: PreparedWorkload) -> Judged:
    candidate = subject.builder.build(subject.built, [prepared.workload])
    if not isinstance(candidate, Candidate):
        return candidate
    refusal = subject.builder.refusal(subject.built, candidate)
    return refusal if refusal is not None else bench.verify(candidate, prepared.name)
