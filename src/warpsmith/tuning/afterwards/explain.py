"""Parameter importance of a run: rebuilds the space from the record and calls `search.importance`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, assert_never

from warpsmith.core.errors import InputError
from warpsmith.core.hardware import Limits
from warpsmith.core.outcome import Evaluation
from warpsmith.record.run import RunRecord
from warpsmith.record.store import Store
from warpsmith.refactor.proposal import FORM
from warpsmith.search.importance import Importance, TooFewResults, ValueEffect, importance_of
from warpsmith.space import Space, space_of
from warpsmith.spec.kernel import Kernel
from warpsmith.template import template_of
from warpsmith.tuning.evaluation.round import carried_over
from warpsmith.tuning.order import Mode, kernel_of, round_kernel


def searched_kernel(record: RunRecord, store: Store) -> Kernel:
    """The kernel with the template that the run searched last. Raises InputError if its files have changed."""
    rounds = store.rounds(record.run)
    if record.header.settings.get("mode") == Mode.DIRECT:
        raise InputError(
            f"run {record.run} rewrote whole kernels, so it has no template",
            hint=f"its rewrites are in {Path(rounds[-1].kernel_path).parents[1]}" if rounds else None,
        )
    return round_kernel(rounds[-1], record.run) if rounds else kernel_of(record)


def searched_space(record: RunRecord, kernel: Kernel) -> Space:
    """The space of `searched_kernel` on the device that the run was on, within the limits of the targets it compiled for too.

    Needs no device: the record has their limits. (Runs of earlier versions did not note those of the targets.)
    """
    info = record.header.device_info
    also = {name: Limits(**limits) for name, limits in info.get("also", {}).items()}
    return space_of(kernel, template_of(kernel), Limits(**info["limits"]), also)


def explain(record: RunRecord, store: Store) -> tuple[Importance | TooFewResults, int | None]:
    """From the run's own results only: a warm start's sources may be from another device. Needs no device."""
    space = searched_space(record, searched_kernel(record, store))
    return mattered(space, carried_over(store.evaluations(record.run), space))


def mattered(space: Space, known: Sequence[Evaluation]) -> tuple[Importance | TooFewResults, int | None]:
    """For a space with forms: of the fastest form, with its number. Importance does not carry over between forms."""
    measured = [evaluation for evaluation in known if evaluation.score is not None and evaluation.configuration in space]
    if not measured or not any(parameter.name == FORM for parameter in space.parameters):
        return importance_of(space, known), None
    form = min(measured, key=lambda evaluation: evaluation.score or 0.0).configuration[FORM]
    part = space.where(FORM, form)
    assert part is not None, "it has the fastest"
    found = importance_of(part, known)
    if isinstance(found, Importance):
        choices = {name for name, values in part.occurring_values().items() if len(values) > 1}
        found = replace(found, parameters=tuple(effect for effect in found.parameters if effect.name in choices))
    return found, int(form)


def importance_entry(found: Importance | TooFewResults, form: int | None = None) -> dict[str, Any]:
    """The object under `importance` in `show RUN --importance --json`; `form` is which it is of, among several."""
    match found:
        case TooFewResults(measured=measured, needed=needed):
            return {"measured": measured, "needed": needed, "r2": None, "form": form, "parameters": [], "pairs": []}
        case Importance():
            return {
                "measured": found.measured,
                "failed": found.failed,
                "predicted": found.predicted,
                "sampled": found.sampled,
                "r2": round(found.r2, 4),
                "spread": round(found.spread, 4),
                "form": form,
                "parameters": [
                    {
                        "name": effect.name,
                        "share": round(effect.share, 4),
                        "best": _value_entry(effect.best),
                        "worst": _value_entry(effect.worst),
                        "values": [_value_entry(value) for value in effect.values],
                    }
                    for effect in found.parameters
                ],
                "pairs": [{"parameters": [pair.first, pair.second], "share": round(pair.share, 4)} for pair in found.pairs],
            }
        case _ as never:
            assert_never(never)


def _value_entry(effect: ValueEffect) -> dict[str, Any]:
    return {"value": effect.value, "slowdown": round(effect.slowdown, 4), "measured": effect.measured}
