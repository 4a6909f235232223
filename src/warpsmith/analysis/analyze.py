"""Compiles the original and every configuration of the template for a target, in parallel and cached, and says what they use."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from pathlib import Path
from typing import TypeAlias

import numpy as np

from warpsmith.analysis.report import ConfigurationReport, TargetReport
from warpsmith.analysis.targets import Target
from warpsmith.compile.binding import Binder, Source
from warpsmith.compile.pool import CompileOutcome, CompilePool
from warpsmith.core.configuration import Configuration
from warpsmith.core.hardware import Occupancy
from warpsmith.devices.base import Binary, CompileRequest, Device, HasOccupancy
from warpsmith.devices.registry import load_device
from warpsmith.space import Space, space_of
from warpsmith.spec.document import read_source
from warpsmith.spec.kernel import Kernel
from warpsmith.template import Template

Progress: TypeAlias = Callable[[int, int], None]
"""(configurations done, of how many)."""

_Submitted: TypeAlias = dict[str, tuple[CompileRequest, Future[CompileOutcome]]]


def analyze(
    kernel: Kernel,
    template: Template,
    target: Target,
    *,
    limit: int | None,
    cache_dir: Path | None,
    workers: int | None = None,
    progress: Progress = lambda _done, _total: None,
) -> TargetReport:
    """`limit` is how many configurations to look at, drawn evenly at random; None means all. Raises UnavailableError.

    The original is compiled from its own source, as in tuning.
    """
    began = time.perf_counter()
    with CompilePool(target.device, workers=workers or _cores(), cache_dir=cache_dir) as pool:
        info = pool.describe()
        binder = Binder(kernel, target.limits(info.limits))
        space = space_of(kernel, template, binder.limits)
        analysis = _Analysis(binder, template, pool, load_device(target.device))
        original, configurations = analysis.run(_chosen(space, limit), progress)
    return TargetReport(
        target=target,
        info=info,
        original=original,
        configurations=configurations,
        of=space.size,
        cartesian_size=space.cartesian_size,
        removed=space.removed,
        best_us=_least_times(kernel, target),
        seconds=time.perf_counter() - began,
    )


class _Analysis:
    def __init__(self, binder: Binder, template: Template, pool: CompilePool, device: Device) -> None:
        self._binder = binder
        self._template = template
        self._pool = pool
        self._occupied = device if isinstance(device, HasOccupancy) else None
        kernel = binder.kernel
        self._workloads = kernel.tuning_workloads
        self._original = Source(read_source(kernel.source), kernel.source)
        self._templated = Source(template.source, template.path)

    def run(
        self, chosen: Iterable[Configuration], progress: Progress
    ) -> tuple[ConfigurationReport, tuple[ConfigurationReport, ...]]:
        default = self._binder.kernel.default_configuration
        original = self._submit(self._original_requests(default))
        waiting = [(configuration, self._submit(self._requests(configuration))) for configuration in chosen]
        reports: list[ConfigurationReport] = []
        for configuration, futures in waiting:
            reports.append(self._report(configuration, futures))
            progress(len(reports), len(waiting))
        return self._report(default, original), tuple(reports)

    def _original_requests(self, default: Configuration) -> dict[str, CompileRequest]:
        own_template = self._binder.kernel.template_source is not None
        defines = {} if own_template else self._template.defines(default)
        return {w.name: self._binder.request(self._original, default, w, defines) for w in self._workloads}

    def _requests(self, configuration: Configuration) -> dict[str, CompileRequest]:
        defines = self._template.defines(configuration)
        return {w.name: self._binder.request(self._templated, configuration, w, defines) for w in self._workloads}

    def _submit(self, requests: dict[str, CompileRequest]) -> _Submitted:
        return {workload: (request, self._pool.submit(request)) for workload, request in requests.items()}

    def _report(self, configuration: Configuration, futures: _Submitted) -> ConfigurationReport:
        occupancies: dict[str, Occupancy] = {}
        resources = None
        for workload, (request, future) in futures.items():
            outcome = future.result()
            if not isinstance(outcome, Binary):
                return ConfigurationReport(configuration, problem=outcome.reason, kind="failed")
            resources = resources or outcome.resources
            if self._occupied is not None:
                found = self._occupied.occupancy(outcome.resources, request.geometry)
                occupancies[workload] = found
                if found.problem is not None:
                    problem = f"{found.problem} (workload {workload!r})"
                    return ConfigurationReport(configuration, outcome.resources, {workload: found}, problem, "infeasible")
        return ConfigurationReport(configuration, resources, occupancies)


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
