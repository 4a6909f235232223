"""What is known of a kernel on a device, here and in the shared store: found by `--warm auto`, added to when a run is over."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Sequence

from warpsmith.core.configuration import Configuration
from warpsmith.core.errors import UnavailableError
from warpsmith.core.outcome import Evaluation, Measured
from warpsmith.devices.base import DeviceInfo
from warpsmith.record.shared import SharedRun, SharedStore, Subject
from warpsmith.record.source import Source
from warpsmith.record.store import Store
from warpsmith.spec.kernel import Kernel
from warpsmith.tuning.context import RunContext
from warpsmith.tuning.events import Emit, Warned
from warpsmith.tuning.order import kernel_fingerprint
from warpsmith.tuning.rounds.warm import thinned

AUTO = "auto"
_TEMPLATES = 4  # that a search learns from: those of which most was measured
_NAMED = 3  # runs, in a source's name


def subject_of(kernel: Kernel, info: DeviceInfo) -> Subject:
    return Subject(kernel_fingerprint(kernel), info.description, info.architecture)


def known_sources(
    kernel: Kernel, info: DeviceInfo, store: Store, shared: SharedStore | None, emit: Emit, *, own_template: bool
) -> tuple[Source, ...]:
    """All that was measured of these very files on such a device, by anybody: one source for each set of parameters.

    With an `own_template` only what has a parameter of it. Whatever machine asks gets the same of the same records.
    """
    subject = subject_of(kernel, info)
    runs = _own(subject, store)
    if shared is not None:
        others, damaged = shared.find(subject)
        runs += [run for run in others if run.run not in {own.run for own in runs}]
        for problem in damaged:
            emit(Warned(f"left out of the shared store: {problem}"))
    wanted = frozenset(parameter.name for parameter in kernel.parameters) if own_template else None
    sources = [s for s in _by_parameters(kernel, info, runs) if wanted is None or wanted & set(s.evaluations[0].configuration)]
    if not sources:
        where = "" if shared is not None else ", and WARPSMITH_SHARED names no shared store"
        emit(Warned(f"--warm auto: no measurements of {kernel.name!r} on {info.description} yet{where}"))
    return tuple(sources[:_TEMPLATES])


def publish(context: RunContext, shared: SharedStore) -> None:
    """A run that is over, for others to start from. What keeps it from being shared is a warning: it is on record here."""
    subject = subject_of(context.order.kernel, context.info)
    evaluations = tuple(context.store.evaluations(context.run))
    try:
        shared.publish(subject, SharedRun(context.run, context.order.kernel.name, time.time(), evaluations))
    except UnavailableError as error:
        context.emit(Warned(f"not shared: {error.message}"))


def _own(subject: Subject, store: Store) -> list[SharedRun]:
    found = []
    for record in store.runs():
        about = record.header
        device = about.device_info.get("description"), about.device_info.get("architecture")
        if about.fingerprint == subject.fingerprint and device == (subject.device, subject.architecture):
            with contextlib.suppress(UnavailableError):  # damaged: that run has nothing to say
                found.append(SharedRun(record.run, about.kernel, record.created_at, tuple(store.evaluations(record.run))))
    return found


def _by_parameters(kernel: Kernel, info: DeviceInfo, runs: Iterable[SharedRun]) -> list[Source]:
    """The one with most measurements first. Of a configuration that several measured, the narrowest interval counts."""
    best: dict[tuple[str, ...], dict[Configuration, Evaluation]] = {}
    names: dict[tuple[str, ...], set[str]] = {}
    for run in runs:
        for evaluation in run.evaluations:
            of = tuple(sorted(evaluation.configuration))
            known = best.setdefault(of, {})
            names.setdefault(of, set()).add(run.run)
            before = known.get(evaluation.configuration)
            if before is None or _rank(evaluation) < _rank(before):
                known[evaluation.configuration] = evaluation
    sources = [
        Source(_named(sorted(names[of])), kernel.name, info.description, thinned(_in_order(known)), len(known))
        for of, known in best.items()
        if of and any(isinstance(e.outcome, Measured) for e in known.values())
    ]
    return sorted(sources, key=lambda s: (-s.summary.measured, tuple(sorted(s.evaluations[0].configuration))))


def _in_order(known: dict[Configuration, Evaluation]) -> Sequence[Evaluation]:
    return sorted(known.values(), key=lambda evaluation: evaluation.configuration.key)


def _rank(evaluation: Evaluation) -> tuple[int, float, str]:
    """What was measured before what failed (a machine may have been short of memory), then by how well it is known."""
    outcome = evaluation.outcome
    if not isinstance(outcome, Measured):
        return 1, 0.0, repr(outcome)
    low, high = outcome.ci95 or (0.0, float("inf"))
    return 0, high - low, repr(outcome.score)


def _named(runs: Sequence[str]) -> str:
    more = len(runs) - _NAMED
    return f"auto: {', '.join(runs[:_NAMED])}{f' and {more} more' if more > 0 else ''}"
