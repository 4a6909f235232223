"""From a configuration to what the compiler and the bench are asked: one place that binds names to numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from warpsmith.core.configuration import Configuration, Value
from warpsmith.core.hardware import Geometry, Limits
from warpsmith.devices.base import CompileRequest, ParameterType
from warpsmith.spec.kernel import Buffer, Kernel, Workload


@dataclass(frozen=True, slots=True)
class Source:
    """Source text to compile, with the file it stands for in diagnostics and the entry, where that is not the kernel's own."""

    text: str
    file: Path
    entry: str | None = None


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
            parameters=tuple(
                ParameterType(a.name, a.dtype, isinstance(a, Buffer), isinstance(a, Buffer) and a.null) for a in kernel.arguments
            ),
            geometry=self.geometry(configuration, workload),
            defines={**kernel.defines, **defines},
            include_dirs=(kernel.source.parent, *kernel.include_dirs),
            constants=tuple(ParameterType(c.name, c.dtype, is_pointer=False) for c in kernel.constants),
        )
