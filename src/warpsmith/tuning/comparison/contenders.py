"""The runs of a comparison as something to launch: each one's best few, built again from the record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from warpsmith.compile.binding import Binder
from warpsmith.compile.pool import CompilePool
from warpsmith.core.configuration import Configuration
from warpsmith.core.hardware import Limits
from warpsmith.core.outcome import Evaluation
from warpsmith.measure.bench import Candidate
from warpsmith.record.store import RunRecord, Store
from warpsmith.refactor.proposal import Proposal
from warpsmith.spec.kernel import Kernel
from warpsmith.spec.load import load_kernel
from warpsmith.template import template_of
from warpsmith.tuning.evaluate import Builder
from warpsmith.tuning.order import Mode
from warpsmith.tuning.rewrites import Rewrites

FINALISTS = 3  # of each run: the search saw only part of the cores


@dataclass(frozen=True, slots=True)
class Contender:
    """One run with its finalists, the best as searched first. The original is among them: who found nothing ends there."""

    record: RunRecord
    mode: Mode
    evaluations: tuple[Evaluation, ...]
    finalists: tuple[tuple[Configuration, Candidate], ...]


def contender(record: RunRecord, store: Store, kernel: Kernel, pool: CompilePool) -> Contender:
    """`kernel` is what the run began with: the untouched one, or one with a template of its author's."""
    mode = Mode(record.header.settings["mode"])
    evaluations = tuple(store.evaluations(record.run))
    limits = pool.describe().limits
    build = _of_rewrites if mode is Mode.DIRECT else _of_template
    builder = build(record, store, kernel, limits, pool)
    default = builder.binder.kernel.default_configuration
    best = [e for e in sorted(evaluations, key=lambda e: e.score or float("inf")) if e.score is not None and e.score < 1]
    # Templates grow from round to round: what an earlier one did not have is at its default.
    points = [default, *(Configuration.of({**default, **e.configuration}) for e in best[:FINALISTS])]
    for point in points:
        builder.prefetch(point, kernel.workloads)
    built = [(point, builder.build(point, kernel.workloads)) for point in points]
    return Contender(record, mode, evaluations, tuple((point, made) for point, made in built if isinstance(made, Candidate)))


def course(evaluations: Sequence[Evaluation]) -> tuple[float, ...]:
    """The best speedup so far after each evaluation; the original, which is always measured first, is 1."""
    best, found = 1.0, []
    for evaluation in evaluations:
        best = min(best, evaluation.score if evaluation.score is not None else best)
        found.append(1 / best)
    return tuple(found)


def _of_rewrites(record: RunRecord, store: Store, kernel: Kernel, limits: Limits, pool: CompilePool) -> Builder:
    rewrites = Rewrites(kernel, limits)
    for about in store.rounds(record.run):
        rewrites.add(Proposal.from_record(dict(about.plan)))
    return rewrites.builder(pool)


def _of_template(record: RunRecord, store: Store, kernel: Kernel, limits: Limits, pool: CompilePool) -> Builder:
    rounds = store.rounds(record.run)
    searched = load_kernel(Path(rounds[-1].kernel_path)) if rounds else kernel
    return Builder(Binder(searched, limits), template_of(searched), pool)
