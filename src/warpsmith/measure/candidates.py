"""Turns compile requests into candidates that a bench can launch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from warpsmith.compile.binding import Binder
from warpsmith.compile.pool import CompilePool
from warpsmith.core.configuration import Configuration
from warpsmith.core.outcome import CompileFailed, Crashed, TimedOut
from warpsmith.devices.base import Binary, CompileRequest
from warpsmith.measure.bench import Candidate
from warpsmith.spec.kernel import Scalar, Workload
from warpsmith.verify.inputs import scalar_bytes, scalar_value

BuildOutcome: TypeAlias = Candidate | CompileFailed | Crashed | TimedOut


def assemble(
    pool: CompilePool,
    binder: Binder,
    configuration: Configuration,
    requests: Mapping[str, CompileRequest],
    workloads: Sequence[Workload],
    *,
    name: str | None = None,
) -> BuildOutcome:
    """Compile for every workload and bind the launch. The pool compiles equal requests once."""
    futures = {w.name: pool.submit(requests[w.name]) for w in workloads}
    binaries: dict[str, Binary] = {}
    for workload, future in futures.items():
        built = future.result()
        if not isinstance(built, Binary):
            return built
        binaries[workload] = built
    return Candidate(
        name=name or str(configuration),
        binaries=binaries,
        geometries={w.name: requests[w.name].geometry for w in workloads},
        scalars={w.name: _scalars(binder, configuration, w) for w in workloads},
    )


def _scalars(binder: Binder, configuration: Configuration, workload: Workload) -> tuple[bytes | None, ...]:
    kernel, names = binder.kernel, binder.names(configuration, workload)
    return tuple(
        scalar_bytes(argument, scalar_value(argument, kernel, workload, names)) if isinstance(argument, Scalar) else None
        for argument in kernel.arguments
    )
