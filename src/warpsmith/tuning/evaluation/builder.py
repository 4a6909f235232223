"""Compiles configurations into launchable candidates, and rejects those whose compiler output rules out a launch."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from warpsmith.analysis.inspection import Inspector, launch_problem, occupancy_of
from warpsmith.analysis.report import Compiling
from warpsmith.compile.binding import Binder
from warpsmith.compile.pool import CompilePool
from warpsmith.compile.requests import Requests
from warpsmith.core.configuration import Configuration
from warpsmith.core.hardware import Resources
from warpsmith.core.outcome import CompileFailed, Infeasible
from warpsmith.devices.base import CompileRequest, Device
from warpsmith.measure.bench import Candidate
from warpsmith.measure.candidates import BuildOutcome, assemble
from warpsmith.spec.kernel import Workload
from warpsmith.template import Template

_NO_TARGETS: Mapping[str, Inspector] = MappingProxyType({})


class Builder:
    """Compiles configurations into candidates. The default configuration is the *original* source, not the template."""

    def __init__(
        self, binder: Binder, template: Template, pool: CompilePool, targets: Mapping[str, Inspector] = _NO_TARGETS
    ) -> None:
        self.binder = binder
        self.template = template
        self.targets = targets
        self.requests = Requests(binder, template)
        self._pool = pool

    def prefetch(self, configuration: Configuration, workloads: Iterable[Workload]) -> None:
        for request in self.requests.of(configuration, workloads).values():
            self._pool.submit(request)
        for target in self.targets.values():
            target.submit(configuration)

    def build(self, configuration: Configuration, workloads: Iterable[Workload]) -> BuildOutcome:
        return self._build(configuration, workloads, lambda request: request)

    def build_idle(self, configuration: Configuration, workloads: Iterable[Workload]) -> BuildOutcome:
        """As `build`, by somebody who measures nothing meanwhile: compilers have the measuring cores until it is there."""
        workloads = tuple(workloads)
        futures = [self._pool.submit(request) for request in self.requests.of(configuration, workloads).values()]
        with self._pool.lent(futures):
            for future in futures:
                future.exception()  # waits, and leaves what to make of it to those who ask for the result
        return self.build(configuration, workloads)

    def refusal(self, configuration: Configuration, candidate: Candidate) -> Infeasible | CompileFailed | None:
        """What the compilers' output says against launching it, here or on a target; None if there is nothing."""
        for workload, binary in candidate.binaries.items():
            geometry = candidate.geometries[workload]
            occupancy = occupancy_of(self._pool.device, binary.resources, geometry)
            problem = launch_problem(self.binder.limits, binary.resources, geometry, occupancy)
            if problem is not None:
                return Infeasible(f"{problem} (workload {workload!r})")
        if configuration == self.binder.kernel.default_configuration:
            return None  # whether the original can run on the targets was asked before anything else
        for name, target in self.targets.items():
            report = target.report(configuration)
            if report.problem is not None:
                return (CompileFailed if report.kind is Compiling.FAILED else Infeasible)(f"{name}: {report.problem}")
        return None

    @property
    def compilers(self) -> int:
        """How many compile at once."""
        return self._pool.workers

    @property
    def device(self) -> Device:
        return self._pool.device

    def resources(self, configuration: Configuration, workload: Workload) -> Resources | None:
        """What compiling for the workload says; None when it does not compile or cannot be launched."""
        candidate = self.build(configuration, (workload,))
        if not isinstance(candidate, Candidate) or self.refusal(configuration, candidate) is not None:
            return None
        return candidate.binaries[workload.name].resources

    @contextlib.contextmanager
    def quiet(self) -> Iterator[None]:
        """Nothing compiles meanwhile, for this device or for a target."""
        pools = [self._pool, *(target.pool for target in self.targets.values())]
        for pool in pools:
            pool.pause()
        try:
            yield
        finally:
            for pool in pools:
                pool.resume()

    def build_watched(self, configuration: Configuration, workloads: Iterable[Workload]) -> BuildOutcome:
        """As `build`, for a device that `Watches`: launches fail where threads race."""
        return self._build(configuration, workloads, lambda request: replace(request, watched=True))

    def build_plain(self, configuration: Configuration, workloads: Iterable[Workload]) -> BuildOutcome:
        """As `build`, for a device that `RunsPlainly`: nothing is done only for speed."""
        return self._build(configuration, workloads, lambda request: replace(request, plain=True))

    def build_templated(self, configuration: Configuration, workloads: Sequence[Workload]) -> BuildOutcome:
        """From the template, also where the configuration is the default."""
        return assemble(self._pool, self.binder, configuration, self.requests.meant(configuration, workloads), workloads)

    def build_template_default(self, workloads: Sequence[Workload]) -> BuildOutcome:
        """The template at its defaults as a candidate of its own, to be proved equal to the original."""
        default = self.binder.kernel.default_configuration
        requests = {w.name: self.requests.templated(default, w) for w in workloads}
        return assemble(self._pool, self.binder, default, requests, workloads, name="template at its defaults")

    def _build(
        self, configuration: Configuration, workloads: Iterable[Workload], asked: Callable[[CompileRequest], CompileRequest]
    ) -> BuildOutcome:
        workloads = tuple(workloads)
        requests = {name: asked(request) for name, request in self.requests.of(configuration, workloads).items()}
        return assemble(self._pool, self.binder, configuration, requests, workloads)
