"""Checks of the original kernel, which runs first: it must compile, and without a reference it is the oracle."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeVar

from warpsmith.core.errors import BaselineError, InputError, Location
from warpsmith.core.outcome import (
    ArgumentCheck,
    CompileFailed,
    Crashed,
    Evaluation,
    LaunchFailed,
    Measured,
    Verdict,
    WrongResult,
)
from warpsmith.measure.bench import Bench, BenchFailure, Candidate
from warpsmith.spec.kernel import Kernel, Role
from warpsmith.tuning.evaluation.builder import Builder
from warpsmith.tuning.evaluation.second_opinion import Doubt, SecondOpinion
from warpsmith.verify.prepared import PreparedWorkload, smallest_first

Answer = TypeVar("Answer")


def establish_original(
    builder: Builder, bench: Bench, prepared: Mapping[str, PreparedWorkload], *, is_known: bool = False
) -> Candidate:
    """Build the original for the prepared workloads; where one expects no outputs yet, its own become those.

    They must repeat, and be the same when the original runs plainly, unless it `is_known` from a run that asked for that.
    """
    kernel = builder.binder.kernel
    where = Location(kernel.source)
    original = builder.build(kernel.default_configuration, [workload.workload for workload in prepared.values()])
    if not isinstance(original, Candidate):
        raise InputError(f"the original kernel does not compile: {original.reason}", location=where)
    second_opinion = SecondOpinion(builder, bench) if not is_known else None
    for workload in smallest_first(prepared.values()):
        if workload.expected is not None:
            continue
        name = workload.name
        first = twice(partial(bench.run_once, original, name))
        if not isinstance(first, int):
            raise BaselineError(f"the original kernel fails on workload {name!r}: {first.reason}", location=where)
        workload.adopt_outputs_as_expected()
        again = bench.verify(original, name)
        if not isinstance(again, Verdict):
            raise BaselineError(f"the original kernel fails on workload {name!r}: {again.reason}", location=where)
        if not again.passed:
            changed = _changed_input(kernel, again)
            if changed is not None:
                raise BaselineError(_passes_not(name, _reason(changed)), location=where, hint=_role_hint(changed))
            raise BaselineError(
                f"the original kernel is not deterministic on workload {name!r}, so it cannot be the oracle",
                location=where,
                hint="give a NumPy reference in [reference]",
            )
        doubt = second_opinion.on(workload, again) if second_opinion is not None else None
        if doubt is not None:
            message = f"the original kernel cannot be the oracle on workload {name!r}: {doubt.reason}"
            raise BaselineError(message, location=where, hint=doubt.hint)
    return original


def twice(ask: Callable[[], Answer]) -> Answer:
    """The original is known to run: where it does not, a GPU may have been at fault, once."""
    answer = ask()
    return ask() if isinstance(answer, LaunchFailed | Crashed) else answer


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


def require_right(builder: Builder, original: Candidate, bench: Bench, prepared: PreparedWorkload) -> None:
    """The original must agree with the oracle before anything is compared with it."""
    kernel = prepared.kernel
    verdict = twice(partial(bench.verify, original, prepared.name))
    agree = "candidates are compared with the same oracle, so the original must agree with it"
    if not isinstance(verdict, Verdict):
        raise _failure(kernel, _passes_not(prepared.name, verdict.reason), agree, None)
    if not verdict.passed:
        reason = _reason(verdict.failure) if verdict.failure is not None else "verification did not run"
        doubt = SecondOpinion(builder, bench).on(prepared, verdict)
        changed = _changed_input(kernel, verdict)
        hint = _role_hint(changed) if changed is not None else agree
        raise _failure(kernel, _passes_not(prepared.name, reason), hint, doubt)


def require_measured(builder: Builder, baseline: Evaluation, bench: Bench, prepared: Mapping[str, PreparedWorkload]) -> Measured:
    """What was measured of the original."""
    outcome = baseline.outcome
    if isinstance(outcome, Measured):
        return outcome
    doubt = None
    if isinstance(outcome, WrongResult) and outcome.verdict.failure is not None:
        doubt = SecondOpinion(builder, bench).on(prepared[outcome.verdict.failure.workload], outcome.verdict)
    hint = "the original is the baseline of every speedup, so it must run and agree with the oracle"
    raise _failure(builder.binder.kernel, f"the original kernel does not pass: {outcome.reason}", hint, doubt)


def _failure(kernel: Kernel, message: str, hint: str, doubt: Doubt | None) -> BaselineError:
    if doubt is not None:
        message, hint = f"{message}; {doubt.reason}", doubt.hint
    return BaselineError(message, location=Location(kernel.source), hint=hint)


def _changed_input(kernel: Kernel, verdict: Verdict) -> ArgumentCheck | None:
    """The check of an argument that kernel.toml calls an input and the kernel writes; not of one that it only writes past."""
    inputs = {buffer.name for buffer in kernel.buffers if buffer.role is Role.IN}
    return next((c for c in verdict.checks if not c.passed and c.argument in inputs and c.where), None)


def _reason(failure: ArgumentCheck) -> str:
    return f"{failure.argument}: {failure.problem}"


def _passes_not(workload: str, reason: str) -> str:
    return f"the original kernel does not pass on workload {workload!r}: {reason}"


def _role_hint(changed: ArgumentCheck) -> str:
    return f'{changed.argument!r} has role "in", but the kernel writes it: role = "out", or "inout" if it is read too'
