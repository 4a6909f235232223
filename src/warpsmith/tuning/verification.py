"""What a run found, put through the device again: every winner and the original, on every workload, on inputs nobody used yet.

The bench verifies, as it does for a search (`measure.bench`); this goes through what is to be verified and says what came of it.
A configuration that is wrong is a result here, not an error.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import count, islice
from typing import Any, TypeAlias

from warpsmith.core.configuration import Configuration
from warpsmith.core.outcome import CompileFailed, Crashed, Infeasible, LaunchFailed, TimedOut, Verdict
from warpsmith.export.base import Build
from warpsmith.measure.bench import Bench, Candidate
from warpsmith.record.required import require_result
from warpsmith.record.store import RunRecord
from warpsmith.space import space_of
from warpsmith.spec.kernel import Kernel, Workload
from warpsmith.tuning.evaluate import Builder
from warpsmith.tuning.events import Emit, StageAdvanced, StageStarted, ignore
from warpsmith.tuning.original import judge_original
from warpsmith.tuning.recheck import RECHECK_SEED, adversaries_of
from warpsmith.tuning.stand import Stand, stand_for
from warpsmith.verify.prepared import PreparedWorkload

DEFAULT_SEEDS = 3
_FIRST_SEED = 1001

Judged: TypeAlias = Verdict | Infeasible | CompileFailed | LaunchFailed | Crashed | TimedOut


class Kind(StrEnum):
    TUNING = "tuning"
    HELDOUT = "heldout"
    ADVERSARIAL = "adversarial"


class Status(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Subject:
    """Something to verify: what it is in the run, what is built of it, and the workloads that it may run on."""

    name: str
    configuration: Configuration
    builder: Builder
    built: Configuration  # as the builder names it: an exported file has no parameters left
    workloads: frozenset[str]
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """What came of one configuration on one workload with inputs of one seed."""

    subject: str
    workload: str
    kind: Kind
    seed: int
    status: Status
    verdict: Verdict | None = None
    reason: str = ""

    @property
    def entry(self) -> dict[str, Any]:
        """As `verify --json` has it; of several arguments that are wrong, the first."""
        wrong = self.verdict.failure if self.verdict is not None else None
        error = self.verdict.max_error if self.verdict is not None else None
        return {
            "configuration": self.subject,
            "workload": self.workload,
            "kind": self.kind.value,
            "seed": self.seed,
            "outcome": self.status.value,
            "max_error": error if error is not None and math.isfinite(error) else None,
            "argument": wrong.argument if wrong else None,
            "element": list(wrong.where) if wrong else None,
            "expected": (wrong.expected or None) if wrong else None,
            "found": (wrong.got or None) if wrong else None,
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True)
class Verification:
    """`subjects` have the configurations that were verified, the original first."""

    device: str
    device_description: str
    oracle: str
    seeds: tuple[int, ...]
    subjects: tuple[Subject, ...]
    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        return not any(check.status is Status.FAILED for check in self.checks)

    def as_dict(self) -> dict[str, Any]:
        counts = {status.value: sum(check.status is status for check in self.checks) for status in Status}
        return {
            "device": self.device,
            "device_description": self.device_description,
            "oracle": self.oracle,
            "seeds": list(self.seeds),
            "passed": self.passed,
            "counts": counts,
            "configurations": [
                {"name": s.name, "config": dict(s.configuration.pairs), **({"file": s.source} if s.source else {})}
                for s in self.subjects
            ],
            "checks": [check.entry for check in self.checks],
        }


def winners_of(record: RunRecord, kernel: Kernel) -> dict[Configuration, list[str]]:
    """What each configuration is in the run's result: `general`, `uncertain`, `for WORKLOAD`. Raises InputError without one."""
    result = require_result(record, "to verify")
    chosen = [("general", result["general"]), ("uncertain", result.get("uncertain"))]
    chosen += [(f"for {workload}", entry) for workload, entry in result["per_workload"].items()]
    found: dict[Configuration, list[str]] = {}
    for name, entry in chosen:
        if entry is not None:
            values = {p.name: entry["config"].get(p.name, p.default) for p in kernel.parameters}
            found.setdefault(Configuration.of(values), []).append(name)
    return found


def fresh_seeds(number: int, run_seed: int) -> tuple[int, ...]:
    """The same for every call, so that what was found can be found again; not those of the run or of its export."""
    return tuple(islice((seed for seed in count(_FIRST_SEED) if seed not in {run_seed, RECHECK_SEED}), number))


def verify_configurations(
    kernel: Kernel,
    configurations: Mapping[Configuration, Sequence[str]],
    device: str,
    *,
    seeds: Sequence[int],
    adversaries: Sequence[Workload] = (),
    emit: Emit = ignore,
) -> Verification:
    """Compiles them, and the original, anew. `kernel` is the template that the run searched last."""
    with stand_for(kernel, device, binary_cache=None) as stand:
        builder = stand.builder(kernel)
        space = space_of(kernel, builder.template, stand.info.limits)
        declared = [workload.name for workload in kernel.workloads]
        subjects = []
        for configuration, names in configurations.items():
            allowed = [w.name for w in adversaries if space.allows(builder.binder.names(configuration, w))]
            workloads = frozenset([*declared, *allowed])
            subjects.append(Subject(", ".join(names), configuration, builder, configuration, workloads))
        return _Verifying(stand, kernel, subjects, adversaries, emit).on(seeds)


def verify_builds(
    kernel: Kernel,
    builds: Sequence[Build],
    device: str,
    *,
    seeds: Sequence[int],
    adversaries: Sequence[Workload] = (),
    emit: Emit = ignore,
) -> Verification:
    """As `verify_configurations`, of files that were exported: each on the workloads that it is for."""
    with stand_for(kernel, device, binary_cache=None) as stand:
        searched = stand.builder(kernel)
        subjects = []
        for place, build in enumerate(builds):
            builder = stand.builder_of_export(build)
            allowed = [w.name for w in adversaries_of(build, searched, adversaries)]
            name = "general" if place == 0 else ", ".join(f"for {workload}" for workload in build.workloads)
            default = builder.binder.kernel.default_configuration
            workloads = frozenset([*build.workloads, *allowed])
            subjects.append(Subject(name, build.configuration, builder, default, workloads, build.file.name))
        return _Verifying(stand, kernel, subjects, adversaries, emit).on(seeds)


class _Verifying:
    def __init__(
        self, stand: Stand, kernel: Kernel, subjects: Sequence[Subject], adversaries: Sequence[Workload], emit: Emit
    ) -> None:
        self._stand = stand
        plain, default = stand.plain, kernel.default_configuration
        self._workloads = [(w, Kind.HELDOUT if w.heldout else Kind.TUNING) for w in plain.workloads]
        self._workloads += [(w, Kind.ADVERSARIAL) for w in adversaries]
        self._builder = stand.builder(plain)
        # A winner that is the original is verified once, as such; an exported file of it is another text.
        same = [s for s in subjects if s.configuration == default and s.source is None]
        name = ", ".join(["original", *(s.name for s in same)])
        everywhere = frozenset(workload.name for workload, _ in self._workloads)
        self._original = Subject(name, default, self._builder, plain.default_configuration, everywhere)
        self._others = [s for s in subjects if s not in same]
        self._emit = emit

    def on(self, seeds: Sequence[int]) -> Verification:
        self._prefetch()
        steps = len(seeds) * len(self._workloads) * (1 + len(self._others))
        self._emit(StageStarted("verify", steps))
        checks: list[Check] = []
        for seed in seeds:
            for check in self._of_seed(seed):
                checks.append(check)
                self._emit(StageAdvanced(len(checks), f"{check.subject} on {check.workload}, seed {seed}: {check.status}"))
        info = self._stand.info
        subjects = (self._original, *self._others)
        return Verification(self._stand.device, info.description, self._stand.oracle, tuple(seeds), subjects, tuple(checks))

    def _prefetch(self) -> None:
        """Several compilers work while the first inputs are made."""
        for subject in (self._original, *self._others):
            subject.builder.prefetch(subject.built, [w for w, _ in self._workloads if w.name in subject.workloads])

    def _of_seed(self, seed: int) -> Iterator[Check]:
        """In a process of its own."""
        with self._stand.bench((workload, seed) for workload, _ in self._workloads) as (bench, prepared):
            for workload, kind in self._workloads:
                judged = judge_original(self._builder, bench, prepared[workload.name])
                original = _check(self._original, workload, kind, seed, judged)
                has_oracle = original.status is Status.PASSED or self._stand.plain.reference.file is not None
                if kind is Kind.ADVERSARIAL and original.status is Status.FAILED:
                    # A tester's inputs only count where the original can do them: here it says nothing about anybody.
                    reason = f"the original is not right itself on these inputs: {original.reason}"
                    has_oracle, original = False, Check(original.subject, workload.name, kind, seed, Status.SKIPPED, None, reason)
                yield original
                for subject in self._others:
                    if workload.name not in subject.workloads:
                        reason = "it is not meant for this workload" if subject.source else "a constraint forbids it there"
                        yield Check(subject.name, workload.name, kind, seed, Status.SKIPPED, None, reason)
                    elif not has_oracle:
                        reason = "there is nothing to compare with: the original is not right there"
                        yield Check(subject.name, workload.name, kind, seed, Status.SKIPPED, None, reason)
                    else:
                        yield _check(subject, workload, kind, seed, _judge(subject, bench, prepared[workload.name]))


def _judge(subject: Subject, bench: Bench, prepared: PreparedWorkload) -> Judged:
    candidate = subject.builder.build(subject.built, [prepared.workload])
    if not isinstance(candidate, Candidate):
        return candidate
    refusal = subject.builder.refusal(subject.built, candidate)
    return refusal if refusal is not None else bench.verify(candidate, prepared.name)


def _check(subject: Subject, workload: Workload, kind: Kind, seed: int, judged: Judged) -> Check:
    if not isinstance(judged, Verdict):
        return Check(subject.name, workload.name, kind, seed, Status.FAILED, None, f"{type(judged).__name__}: {judged.reason}")
    wrong = judged.failure
    reason = f"{wrong.argument}: {wrong.problem}" if wrong is not None else ""
    status = Status.PASSED if judged.passed else Status.FAILED
    return Check(subject.name, workload.name, kind, seed, status, judged, reason)
