"""What is compiled of a kernel: the original from its own source, every other configuration from the template."""

from __future__ import annotations

from collections.abc import Iterable

from warpsmith.compile.binding import Binder, Source
from warpsmith.core.configuration import Configuration
from warpsmith.devices.base import CompileRequest
from warpsmith.spec.document import read_source
from warpsmith.spec.kernel import Workload
from warpsmith.template import Template


class Requests:
    """For one kernel, template and device (whose limits the binder has)."""

    def __init__(self, binder: Binder, template: Template) -> None:
        kernel = binder.kernel
        self._binder = binder
        self._template = template
        self._original = Source(read_source(kernel.source), kernel.source)
        self._templated = Source(template.source, template.path, kernel.template_entry)

    def of(self, configuration: Configuration, workloads: Iterable[Workload]) -> dict[str, CompileRequest]:
        """By workload. The default configuration is the original."""
        if configuration == self._binder.kernel.default_configuration:
            return {w.name: self.original(w) for w in workloads}
        return {w.name: self.templated(configuration, w) for w in workloads}

    def original(self, workload: Workload) -> CompileRequest:
        """The original needs its parameters only where kernel.toml names no template of its own."""
        kernel = self._binder.kernel
        defines = self._template.defines(kernel.default_configuration) if kernel.template_source is None else {}
        return self._binder.request(self._original, kernel.default_configuration, workload, defines)

    def templated(self, configuration: Configuration, workload: Workload) -> CompileRequest:
        return self._binder.request(self._templated, configuration, workload, self._template.defines(configuration))
