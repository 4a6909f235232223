"""The contenders of a comparison: each run's best few configurations, rebuilt from the record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from warpsmith.compile.pool import CompilePool
from warpsmith.core.configuration import Configuration
from warpsmith.core.outcome import Evaluation
from warpsmith.measure.bench import Candidate
from warpsmith.measure.policy import COMPARISON_FINALISTS
from warpsmith.record.result import ModelCost
from warpsmith.record.run import RunRecord
from warpsmith.record.store import Store
from warpsmith.tuning.afterwards.choices import choices_of
from warpsmith.tuning.agent.allowance import Allowance, Ledger
from warpsmith.tuning.order import Mode


@dataclass(frozen=True, slots=True)
class Contender:
    """One run with its finalists, the best as searched first. The original is among them: who found nothing ends there."""

    record: RunRecord
    mode: Mode
    evaluations: tuple[Evaluation, ...]
    finalists: tuple[tuple[Configuration, Candidate], ...]
    model: ModelCost | None = None  # what a language model took


def contender(record: RunRecord, store: Store, pool: CompilePool) -> Contender:
    mode = Mode(record.header.settings["mode"])
    evaluations = tuple(store.evaluations(record.run))
    builder = choices_of(record, store).builder(pool.describe().limits, pool)
    kernel = builder.binder.kernel
    default = kernel.default_configuration
    best = [e for e in sorted(evaluations, key=lambda e: e.score or float("inf")) if e.score is not None and e.score < 1]
    # Templates grow from round to round: what an earlier one did not have is at its default.
    points = [default, *(Configuration.of({**default, **e.configuration}) for e in best[:COMPARISON_FINALISTS])]
    for point in points:
        builder.prefetch(point, kernel.workloads)
    built = [(point, builder.build(point, kernel.workloads)) for point in points]
    ready = tuple((point, made) for point, made in built if isinstance(made, Candidate))
    return Contender(record, mode, evaluations, ready, Ledger(Allowance(), store.messages(record.run)).spent)


def course(evaluations: Sequence[Evaluation]) -> tuple[float, ...]:
    """The best speedup so far after each evaluation; the original, which is always measured first, is 1."""
    best, found = 1.0, []
    for evaluation in evaluations:
        best = min(best, evaluation.score if evaluation.score is not None else best)
        found.append(1 / best)
    return tuple(found)
