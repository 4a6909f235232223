"""A kernel's counters on a GPU without the hardware: per launch and source line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from warpsmith.analysis.inspection import occupancy_of
from warpsmith.analysis.targets import Target
from warpsmith.compile.binding import Binder
from warpsmith.compile.pool import CompilePool
from warpsmith.compile.requests import Requests
from warpsmith.core.configuration import Configuration
from warpsmith.core.counted import Counted, LaunchArgument
from warpsmith.core.errors import InputError
from warpsmith.core.hardware import Geometry, Occupancy, Resources
from warpsmith.core.jsonable import as_json
from warpsmith.devices.base import Binary, CompileRequest, DeviceInfo
from warpsmith.spec.kernel import Kernel, Workload
from warpsmith.template import Template


@dataclass(frozen=True, slots=True)
class Arguments:
    """Of a workload: what a launch is given, what its constants hold, and how to make what a buffer holds."""

    given: tuple[LaunchArgument, ...]
    constants: Mapping[str, bytes]
    contents: Callable[[str], bytes]


@dataclass(frozen=True, slots=True)
class LaunchProfile:
    """Of one workload."""

    workload: str
    geometry: Geometry
    resources: Resources
    occupancy: Occupancy | None
    counted: Counted

    def entry(self) -> dict[str, Any]:
        found = self.occupancy
        return {
            "workload": self.workload,
            "grid": list(self.geometry.grid),
            "block": list(self.geometry.block),
            "registers": self.resources.registers,
            "spill_bytes": self.resources.spill_bytes,
            "shared_bytes": found.shared_bytes if found else self.resources.shared_bytes,
            "occupancy": round(found.fraction, 4) if found else None,
            "limiter": found.limiter.value if found else None,
            "blocks_executed": self.counted.blocks,
            "depends_on": list(self.counted.inputs),
            "warp_cycles": round(self.counted.warp_cycles, 1),
            "metrics": dict(self.counted.metrics),
            "lines": as_json(self.counted.lines),
        }


@dataclass(frozen=True, slots=True)
class ProfileReport:
    target: Target
    info: DeviceInfo
    configuration: Configuration
    launches: tuple[LaunchProfile, ...]

    def entry(self) -> dict[str, Any]:
        gpu = self.target.gpu
        return {
            "target": self.target.name,
            "device": self.info.name,
            "description": gpu.description if gpu else self.info.description,
            "versions": dict(self.info.versions),
            "config": dict(self.configuration.pairs),
            "counted": "without the hardware",
            "workloads": [launch.entry() for launch in self.launches],
        }


class Profiler:
    """Of one kernel, template and target; the pool is the caller's."""

    def __init__(
        self, kernel: Kernel, template: Template, target: Target, pool: CompilePool, arguments: Callable[[Workload], Arguments]
    ) -> None:
        self.info = pool.describe()
        target.require_language(kernel.language, self.info.languages)
        self.binder = Binder(kernel, target.limits(self.info.limits))
        self._requests = Requests(self.binder, template)
        self._target = target
        self._pool = pool
        self._arguments = arguments

    def profile(self, configuration: Configuration, workload: Workload, *, lines: bool) -> LaunchProfile:
        """Raises InputError where it does not compile or cannot be launched, UnsupportedFeature where it cannot be followed."""
        request = self._requests.of(configuration, (workload,))[workload.name]
        return self.launch(replace(request, lines=lines), workload)

    def launch(self, request: CompileRequest, workload: Workload) -> LaunchProfile:
        outcome = self._pool.compile(request)
        if not isinstance(outcome, Binary):
            raise InputError(
                f"it does not compile for {self._target.name}: {outcome.reason}", hint=getattr(outcome, "log", "") or None
            )
        occupancy = occupancy_of(self._pool.device, outcome.resources, request.geometry)
        if occupancy is not None and occupancy.problem is not None:
            raise InputError(f"it cannot be launched on {self._target.name}: {occupancy.problem}")
        given = self._arguments(workload)
        counted = self._pool.count(outcome, request.geometry, given.given, given.constants, given.contents)
        return LaunchProfile(workload.name, request.geometry, outcome.resources, occupancy, counted)


def profile(
    kernel: Kernel,
    template: Template,
    target: Target,
    *,
    configuration: Configuration,
    workloads: tuple[Workload, ...],
    arguments: Callable[[Workload], Arguments],
    cache_dir: Path | None,
) -> ProfileReport:
    """The default configuration is the original."""
    with CompilePool(target.device, cache_dir=cache_dir, folders=kernel.folders) as pool:
        profiler = Profiler(kernel, template, target, pool, arguments)
        launches = tuple(profiler.profile(configuration, workload, lines=True) for workload in workloads)
        return ProfileReport(target, profiler.info, configuration, launches)
