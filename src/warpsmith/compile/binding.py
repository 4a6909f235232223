"""Turns a configuration into compile and launch requests: the one place that binds names to numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from warpsmith.core.configuration import Configuration, Value
from warpsmith.core.hardware import Geometry, Limits
from warpsmith.devices.base import CompileRequest, Original, ParameterType
from warpsmith.spec.kernel import Argument, Buffer, Kernel, Role, Workload


@dataclass(frozen=True, slots=True)
class Source:
    """Source text to compile, with its file for diagnostics, and its entry if that differs from the kernel's.

    `held_to` is the original that third-party source must not exceed.
    """

    text: str
    file: Path
    entry: str | None = None
    held_to: Original | None = None


@dataclass(frozen=True, slots=True)
class Binder:
    """Binds parameters, workload sizes and device limits for one kernel on one device."""

    kernel: Kernel
    limits: Limits

    def names(self, configuration: Configuration, workload: Workload) -> dict[str, Value]:
        return {**self.limits.names(), **workload.sizes, **configuration}

    def geometry(self, configuration: Configuration, workload: Workload) -> Geometry:
        return self.kernel.launch.geometry(self.names(configuration, workload))

    def request(
        self, source: Source, configuration: Configuration, workload: Workload, defines: Mapping[str, Value]
    ) -> CompileRequest:
        kernel = self.kernel
        return CompileRequest(
            source=source.text,
            source_file=source.file,
            language=kernel.language,
            entry=source.entry or kernel.entry,
            parameters=tuple(_parameter(argument) for argument in kernel.arguments),
            geometry=self.geometry(configuration, workload),
            defines={**kernel.defines, **defines},
            include_dirs=(kernel.source.parent, *kernel.include_dirs),
            held_to=source.held_to,
            constants=tuple(ParameterType(c.name, c.dtype, is_pointer=False) for c in kernel.constants),
        )


def _parameter(argument: Argument) -> ParameterType:
    if not isinstance(argument, Buffer):
        return ParameterType(argument.name, argument.dtype, is_pointer=False)
    return ParameterType(
        argument.name,
        argument.dtype,
        is_pointer=True,
        is_null=argument.null,
        is_written=argument.role is not Role.IN,
        is_initialised=argument.role is not Role.OUT,
    )
