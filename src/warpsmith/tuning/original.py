"""The original kernel as the first thing that runs: it must compile, and where there is no reference it is the oracle."""

from __future__ import annotations

from collections.abc import Mapping

from warpsmith.core.errors import BaselineError, InputError, Location
from warpsmith.core.outcome import CompileFailed, Verdict
from warpsmith.measure.bench import Bench, BenchFailure, Candidate
from warpsmith.tuning.evaluate import Builder
from warpsmith.verify.prepared import PreparedWorkload


def establish_original(builder: Builder, bench: Bench, prepared: Mapping[str, PreparedWorkload]) -> Candidate:
    """Build the original for the prepared workloads; where none expects outputs yet, its own become those (if they repeat)."""
    kernel = builder.binder.kernel
    where = Location(kernel.source)
    original = builder.build(kernel.default_configuration, [workload.workload for workload in prepared.values()])
    if not isinstance(original, Candidate):
        raise InputError(f"the original kernel does not compile: {original.reason}", location=where)
    for name, workload in prepared.items():
        if workload.expected is not None:
            continue
        first = bench.run_once(original, name)
        if not isinstance(first, int):
            raise BaselineError(f"the original kernel fails on workload {name!r}: {first.reason}", location=where)
        workload.adopt_outputs_as_expected()
        again = bench.verify(original, name)
        if not isinstance(again, Verdict) or not again.passed:
            raise BaselineError(
                f"the original kernel does not repeat its own outputs on workload {name!r}, so it cannot be the oracle",
                location=where,
                hint="give a NumPy reference in [reference]",
            )
    return original


def judge_original(builder: Builder, bench: Bench, prepared: PreparedWorkload) -> Verdict | CompileFailed | BenchFailure:
    """What the oracle says of the original on one workload; without a reference, whether it repeats its own outputs."""
    original = builder.build(builder.binder.kernel.default_configuration, [prepared.workload])
    if not isinstance(original, Candidate):
        return original
    if prepared.expected is None:
        first = bench.run_once(original, prepared.name)
        if not isinstance(first, int):
            return first
        prepared.adopt_outputs_as_expected()
    return bench.verify(original, prepared.name)


def require_right(original: Candidate, bench: Bench, prepared: PreparedWorkload) -> None:
    """The original must agree with the oracle before anything is compared with it."""
    kernel = prepared.kernel
    verdict = bench.verify(original, prepared.name)
    passed = isinstance(verdict, Verdict) and verdict.passed
    if not passed:
        failure = verdict.failure if isinstance(verdict, Verdict) else None
        reason = f"{failure.argument}: {failure.problem}" if failure else getattr(verdict, "reason", "verification did not run")
        raise BaselineError(
            f"the original kernel does not pass on workload {prepared.name!r}: {reason}",
            location=Location(kernel.source),
            hint="what is made of it is compared with the same oracle, so it must agree first",
        )
