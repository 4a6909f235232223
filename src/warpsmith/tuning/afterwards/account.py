"""Collects a report's data from the record and the kernel's files. Needs no device and runs nothing."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

from warpsmith.core.configuration import Configuration
from warpsmith.core.errors import InputError
from warpsmith.measure.roofline import needs_of
from warpsmith.record.run import NO_AGENT, RunRecord
from warpsmith.record.store import Store
from warpsmith.report.html.facts import OtherRun, RunFacts, SourceFacts, TemplateFacts
from warpsmith.report.lab_book import lab_book
from warpsmith.search.importance import Importance
from warpsmith.space import Space
from warpsmith.spec.bundled import FILE_NAME, bundled_path
from warpsmith.spec.document import read_source
from warpsmith.spec.kernel import Kernel
from warpsmith.template import Template, template_of
from warpsmith.template.difference import difference
from warpsmith.template.meanings import parameter_meanings
from warpsmith.tuning.afterwards.differences import differences
from warpsmith.tuning.afterwards.explain import importance_entry, mattered, searched_kernel, searched_space
from warpsmith.tuning.evaluation.round import carried_over
from warpsmith.tuning.order import Mode, kernel_of
from warpsmith.tuning.result import shown_result


def account_of(record: RunRecord, store: Store) -> RunFacts:
    """If the run's files changed, everything derived from them is omitted, with the reason."""
    evaluations = store.evaluations(record.run)
    rounds = store.rounds(record.run)
    facts = RunFacts(
        record=record,
        result=shown_result(record, store),
        evaluations=tuple(evaluations),
        round_of=_round_of(record, store, [about.number for about in rounds]),
        rounds=tuple(rounds),
        book=lab_book(record, store),
        repeat=_repeat(record),
    )
    try:
        kernel = kernel_of(record)
    except InputError as error:
        return replace(facts, missing=error.message)
    needs = {w.name: needs_of(kernel, w) for w in kernel.workloads}
    source = SourceFacts(kernel.source.name, read_source(kernel.source))
    facts = replace(facts, workloads=kernel.workloads, needs=needs, source=source)
    if record.header.settings.get("mode") == Mode.DIRECT:
        return replace(facts, rewrite_diff=_rewrite_diff(facts, kernel))
    if record.header.agent != NO_AGENT and not rounds:
        return facts  # it was stopped before it had a template
    try:
        return _with_template(facts, store)
    except InputError as error:
        return replace(facts, missing=error.message)


def account_beside(record: RunRecord, other: RunRecord, store: Store) -> RunFacts:
    """With the differences from another run. Raises InputError if one of them has no result."""
    found = differences((record, shown_result(record, store)), (other, shown_result(other, store)))
    return replace(account_of(record, store), other=OtherRun(found, tuple(store.evaluations(other.run))))


def _with_template(facts: RunFacts, store: Store) -> RunFacts:
    kernel = searched_kernel(facts.record, store)
    template = template_of(kernel)
    space = searched_space(facts.record, kernel)
    found, form = mattered(space, carried_over(facts.evaluations, space))
    return replace(
        facts,
        source=replace(facts.source, template=template.source) if facts.source is not None else None,
        template=_template_facts(kernel, template, space),
        importance=found if isinstance(found, Importance) else None,
        influence=importance_entry(found, form),
    )


def _template_facts(kernel: Kernel, template: Template, space: Space) -> TemplateFacts:
    return TemplateFacts(
        parameters=template.parameters,
        meanings=parameter_meanings(kernel, template),
        diff=difference(kernel.source, template.path, template.source),
        feasible=space.size,
        cartesian_size=space.cartesian_size,
        removed=space.removed,
    )


def _round_of(record: RunRecord, store: Store, numbers: list[int]) -> dict[Configuration, int]:
    return {e.configuration: number for number in numbers for e in store.evaluations(record.run, number)}


def _rewrite_diff(facts: RunFacts, kernel: Kernel) -> str:
    """Of the best; empty where that is the original. What was compiled is the record's text."""
    best = facts.rewrite_of(facts.best.config) if facts.best is not None else None
    return difference(kernel.source, kernel.source, best["source"]) if best is not None else ""


def _repeat(record: RunRecord) -> str:
    header, settings = record.header, record.header.settings
    path = Path(header.kernel_path)
    is_bundled = bundled_path(path.parent.name) == path
    kernel = path.parent.name if is_bundled else str(path.parent if path.name == FILE_NAME else path)
    devices = ",".join((header.device, *settings.get("more_devices", ())))
    words = ["warpsmith", "tune", kernel, "--device", devices, "--agent", header.agent, "--strategy", header.strategy]
    options = {
        "--mode": settings.get("mode") if settings.get("mode") != Mode.TEMPLATE else None,
        "--rounds": settings.get("rounds"),
        "--evaluations": settings.get("evaluations"),
        "--time": None if settings.get("seconds") is None else f"{settings['seconds']:g}s",
        "--max-usd": settings.get("max_usd"),
        "--max-tokens": settings.get("max_tokens"),
        "--also-compile": ",".join(settings.get("also_compile", ())) or None,
        "--workers": settings.get("cluster"),
        "--seed": header.seed,
    }
    for option, value in options.items():
        words += [option, str(value)] if value is not None else []
    return shlex.join(words)
