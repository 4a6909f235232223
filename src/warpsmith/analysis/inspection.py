"""Inspects a compiled configuration before any launch: its resources, and whether it can run."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Future
from typing import TypeAlias

from warpsmith.analysis.report import Compiling, ConfigurationReport
from warpsmith.compile.pool import CompileOutcome, CompilePool
from warpsmith.compile.requests import Requests
from warpsmith.core.configuration import Configuration
from warpsmith.core.hardware import Geometry, Limits, Occupancy, Resources
from warpsmith.devices.base import Binary, CompileRequest, Device, HasOccupancy
from warpsmith.spec.kernel import Workload

Submitted: TypeAlias = dict[str, tuple[CompileRequest, Future[CompileOutcome]]]
"""By workload."""


class Inspector:
    """One device's view of what is chosen from. It need not be there: compiling is enough."""

    def __init__(self, requests: Requests, limits: Limits, pool: CompilePool, workloads: Iterable[Workload]) -> None:
        self._limits = limits
        self._requests = requests
        self.pool = pool
        self._workloads = tuple(workloads)

    def submit(self, configuration: Configuration) -> Submitted:
        """Begin compiling. The default configuration is the original, from its own source."""
        requests = self._requests.of(configuration, self._workloads)
        return {workload: (request, self.pool.submit(request)) for workload, request in requests.items()}

    def report(self, configuration: Configuration, submitted: Submitted | None = None) -> ConfigurationReport:
        """Waits for the compiler. The first workload on which it cannot run is the one that is told of."""
        occupancies: dict[str, Occupancy] = {}
        resources = None
        for workload, (request, future) in (submitted or self.submit(configuration)).items():
            outcome = future.result()
            if not isinstance(outcome, Binary):
                return ConfigurationReport(configuration, problem=outcome.reason, kind=Compiling.FAILED)
            resources = resources or outcome.resources
            found = occupancy_of(self.pool.device, outcome.resources, request.geometry)
            if found is not None:
                occupancies[workload] = found
            problem = launch_problem(self._limits, outcome.resources, request.geometry, found)
            if problem is not None:
                there = {workload: found} if found is not None else {}
                problem = f"{problem} (workload {workload!r})"
                return ConfigurationReport(configuration, outcome.resources, there, problem, Compiling.INFEASIBLE)
        return ConfigurationReport(configuration, resources, occupancies)


def occupancy_of(device: Device, used: Resources, geometry: Geometry) -> Occupancy | None:
    return device.occupancy(used, geometry) if isinstance(device, HasOccupancy) else None


def launch_problem(limits: Limits, used: Resources, geometry: Geometry, occupancy: Occupancy | None) -> str | None:
    """Why compiled code cannot be launched so: the limit and the two numbers; None if nothing is known against it."""
    threads = geometry.threads_per_block
    if used.max_threads is not None and threads > used.max_threads:
        return f"{threads} threads exceed the {used.max_threads} that the compiled kernel allows"
    if occupancy is not None:
        return occupancy.problem
    # Some devices count dynamic shared memory among what the code uses, some do not: at least the larger of the two is needed.
    shared_bytes = max(used.shared_bytes or 0, geometry.shared_bytes)
    if shared_bytes > limits.shared_bytes_per_block:
        return f"{shared_bytes} bytes of shared memory exceed the {limits.shared_bytes_per_block} of a block"
    return None
