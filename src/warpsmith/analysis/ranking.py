"""Sorts configurations by their estimated time on a GPU, without the hardware."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

from warpsmith.analysis.catalogue import CatalogueGpu
from warpsmith.analysis.estimate import Estimate, estimate
from warpsmith.analysis.profile import Arguments, Profiler
from warpsmith.analysis.ranked import Ranked, Ranking
from warpsmith.analysis.targets import Target
from warpsmith.compile.pool import CompilePool
from warpsmith.core.configuration import Configuration
from warpsmith.core.errors import InputError, UnsupportedFeature
from warpsmith.spec.kernel import Kernel, Workload
from warpsmith.template import Template


class Ranker:
    """Raises InputError for a target that is no product: an architecture has no clock."""

    def __init__(
        self, kernel: Kernel, template: Template, target: Target, pool: CompilePool, arguments: Callable[[Workload], Arguments]
    ) -> None:
        self._gpu = _product(target)
        self._kernel = kernel
        self._pool = pool
        self._profiler = Profiler(kernel, template, target, pool, arguments)

    def rank(self, chosen: Iterable[Configuration], done: Callable[[int], None]) -> Ranking:
        found: list[Ranked] = []
        with ThreadPoolExecutor(self._pool.workers) as threads:
            for one in threads.map(self._one, chosen):
                found.append(one)
                done(len(found))
        return Ranking(
            tuple(sorted((one for one in found if one.problem is None), key=lambda one: one.us)),
            tuple(one for one in found if one.problem is not None),
        )

    def _one(self, configuration: Configuration) -> Ranked:
        estimates: dict[str, Estimate] = {}
        logs, weights = 0.0, 0.0
        for workload in self._kernel.tuning_workloads:
            try:
                launch = self._profiler.profile(configuration, workload, lines=False)
            except (InputError, UnsupportedFeature) as error:
                return Ranked(configuration, {}, problem=error.message)
            assert launch.occupancy is not None
            made = estimate(launch.counted, launch.geometry, launch.occupancy, self._gpu)
            assert made is not None
            estimates[workload.name] = made
            logs += workload.weight * math.log(made.us)
            weights += workload.weight
        return Ranked(configuration, estimates, math.exp(logs / weights))


def _product(target: Target) -> CatalogueGpu:
    gpu = target.gpu
    if gpu is None or gpu.clock_hz is None or gpu.cache_bytes is None:
        raise InputError(
            f"times cannot be estimated for {target.name}",
            hint="name an NVIDIA GPU that has clock_mhz and l2_mb in the catalogue, such as a100-sxm-80gb or rtx-3090",
        )
    return gpu
