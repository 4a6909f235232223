"""Compiles the original and every configuration of the template for a target, in parallel and cached, and reports resources."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeAlias

import numpy as np

from warpsmith.analysis.inspection import Inspector
from warpsmith.analysis.profile import Arguments
from warpsmith.analysis.ranking import Ranker
from warpsmith.analysis.report import ConfigurationReport, TargetReport
from warpsmith.analysis.targets import Target
from warpsmith.compile.binding import Binder
from warpsmith.compile.pool import CompilePool
from warpsmith.compile.requests import Requests
from warpsmith.core.configuration import Configuration
from warpsmith.space import Space, space_of
from warpsmith.spec.kernel import Kernel, Workload
from warpsmith.template import Template

Progress: TypeAlias = Callable[[int, int], None]
"""(configurations done, of how many)."""


def analyze(
    kernel: Kernel,
    template: Template,
    target: Target,
    *,
    limit: int | None,
    cache_dir: Path | None,
    arguments: Callable[[Workload], Arguments] | None = None,
    workers: int | None = None,
    progress: Progress = lambda _done, _total: None,
) -> TargetReport:
    """`limit` is how many configurations to look at, drawn evenly at random; None means all. With `arguments` they are ranked by
    their estimated time, too. Raises InputError for a language that the target does not take, UnavailableError without its
    compiler.

    The original is compiled from its own source, as in tuning.
    """
    began = time.perf_counter()
    with CompilePool(target.device, workers=workers or _cores(), cache_dir=cache_dir, folders=kernel.folders) as pool:
        info = pool.describe()
        target.require_language(kernel.language, info.languages)
        binder = Binder(kernel, target.limits(info.limits))
        space = space_of(kernel, template, binder.limits)
        inspector = Inspector(Requests(binder, template), binder.limits, pool, kernel.tuning_workloads)
        chosen = _chosen(space, limit)
        ranker = Ranker(kernel, template, target, pool, arguments) if arguments is not None else None
        original, configurations = _inspect(inspector, kernel.default_configuration, chosen, progress)
        runnable = [report.configuration for report in configurations if report.problem is None]
        ranking = ranker.rank(runnable, lambda done: progress(done, len(runnable))) if ranker is not None else None
    return TargetReport(
        target=target,
        info=info,
        original=original,
        configurations=configurations,
        of=space.size,
        cartesian_size=space.cartesian_size,
        removed=space.removed,
        best_us=_least_times(kernel, target),
        ranking=ranking,
        seconds=time.perf_counter() - began,
    )


def _inspect(
    inspector: Inspector, default: Configuration, chosen: Iterable[Configuration], progress: Progress
) -> tuple[ConfigurationReport, tuple[ConfigurationReport, ...]]:
    """All are submitted before the first is waited for."""
    original = inspector.submit(default)
    waiting = [(configuration, inspector.submit(configuration)) for configuration in chosen]
    reports: list[ConfigurationReport] = []
    for configuration, submitted in waiting:
        reports.append(inspector.report(configuration, submitted))
        progress(len(reports), len(waiting))
    return inspector.report(default, original), tuple(reports)


def _chosen(space: Space, limit: int | None) -> list[Configuration]:
    if limit is None or limit >= space.size:
        return list(space)
    return [space[number] for number in sorted(space.sample(limit, np.random.default_rng(0)))]


def _least_times(kernel: Kernel, target: Target) -> dict[str, float]:
    """What a launch takes at least on a GPU whose bandwidth is known: the bytes that must move, and nothing else."""
    if target.gpu is None or kernel.traffic.bytes is None:
        return {}
    rate = target.gpu.bandwidth_bytes_per_s
    return {w.name: 1e6 * float(kernel.traffic.bytes.evaluate(w.sizes)) / rate for w in kernel.tuning_workloads}


def _cores() -> int:
    return len(os.sched_getaffinity(0))
