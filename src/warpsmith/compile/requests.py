"""Compile requests of a kernel: the original from its own source, every other configuration from the template."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property

from warpsmith.compile.binding import Binder, Source
from warpsmith.compile.keys import included_files
from warpsmith.core.configuration import Configuration
from warpsmith.devices.base import CompileRequest, Original
from warpsmith.refactor.proposal import FORM
from warpsmith.spec.document import read_source
from warpsmith.spec.kernel import Workload
from warpsmith.template import Template
from warpsmith.template.settling import meaning


class Requests:
    """Requests for one kernel, template and device (whose limits the binder has)."""

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
        return self.meant(configuration, workloads)

    def meant(self, configuration: Configuration, workloads: Iterable[Workload]) -> dict[str, CompileRequest]:
        """The template's, by workload, compiled only if no equivalent request was.

        Templates of one kernel share most of their configurations: those of a run's rounds, and earlier drafts.
        """
        kernel = self._binder.kernel
        beside = [f"// {name} {value}" for name, value in sorted(kernel.defines.items())]
        entry = kernel.template_entry or kernel.entry
        text = meaning(self._template, configuration, beside=[entry, *map(str, kernel.defines.values())])
        meant = "\n".join([*beside, text]) if text is not None and self._is_whole else None
        return {w.name: replace(self.templated(configuration, w), meaning=meant) for w in workloads}

    def original(self, workload: Workload) -> CompileRequest:
        """The original has parameters only if kernel.toml names no separate template."""
        kernel = self._binder.kernel
        defines = self._template.defines(kernel.default_configuration) if kernel.template_source is None else {}
        return self._binder.request(self._original, kernel.default_configuration, workload, defines)

    def templated(self, configuration: Configuration, workload: Workload) -> CompileRequest:
        """Unshared, for a proof about this exact text."""
        source = replace(self._templated, held_to=self._held_to(configuration))
        return self._binder.request(source, configuration, workload, self._template.defines(configuration))

    def _held_to(self, configuration: Configuration) -> Original | None:
        """For templates of another author; the form at 0 is the original's own."""
        kernel = self._binder.kernel
        is_others = kernel.template_foreign and dict(configuration).get(FORM, 1) != 0
        return Original(self._original.text, kernel.defines) if is_others else None

    @cached_property
    def _is_whole(self) -> bool:
        """Whether no user file is included: one could use the parameters, too."""
        kernel = self._binder.kernel
        request = self.templated(kernel.default_configuration, kernel.workloads[0])
        return included_files(request) == {}
