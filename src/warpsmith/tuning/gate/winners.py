"""The winners that a folder stores: exports within a kernel's folder, and own templates with an accepted configuration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from warpsmith.core.configuration import Configuration
from warpsmith.core.errors import InputError, Location
from warpsmith.core.fingerprint import fingerprint
from warpsmith.export.base import Build
from warpsmith.export.earlier import EarlierExport, read_export
from warpsmith.export.manifest import FILE_NAME
from warpsmith.record.required import require_result
from warpsmith.record.run import NO_AGENT, Status
from warpsmith.record.store import Store
from warpsmith.refactor.untouched import untouched
from warpsmith.spec.includes import included_files
from warpsmith.spec.kernel import Kernel
from warpsmith.spec.load import load_kernel
from warpsmith.spec.several import kernels_below
from warpsmith.tuning.afterwards.choices import OfTemplate
from warpsmith.tuning.order import kernel_fingerprint


@dataclass(frozen=True)
class Winner:
    """Of one kernel: files that were exported, or a configuration of its own template. `name` is its place in the folder."""

    name: str
    kernel: Kernel
    configuration: Configuration
    export: EarlierExport | None = None

    @cached_property
    def builds(self) -> tuple[Build, ...]:
        """Of an export: the general one first."""
        return self.export.builds(self.kernel) if self.export is not None else ()

    @property
    def choices(self) -> OfTemplate:
        """An export lies beside the kernel as it was."""
        return OfTemplate.of(untouched(self.kernel) if self.export is not None else self.kernel)

    @cached_property
    def original(self) -> str:
        """Says whether the original is still what it was: its source with what it includes, and the workloads."""
        source = self.kernel.source
        text = source.read_text(encoding="utf-8", errors="replace")
        headers = sorted({header.resolve() for header, _ in included_files(source, text, self.kernel.include_dirs)})
        workloads = [[w.name, dict(w.sizes), w.weight] for w in self.kernel.workloads]
        return fingerprint(source.read_bytes(), *(header.read_bytes() for header in headers), workloads)


@dataclass(frozen=True, slots=True)
class Unusable:
    """What lies there and cannot be gated, with the reason: something is wrong, or nothing is stored there."""

    name: str
    problem: str
    is_wrong: bool = True


Accepted = Callable[[str], Configuration | None]
"""The configuration that was accepted of a winner, if any."""


def find_winners(folder: Path, accepted: Accepted) -> list[Winner | Unusable]:
    """Raises InputError for a folder that has no kernels."""
    if not folder.is_dir():
        raise InputError("not a folder", location=Location(folder), hint="give the folder that has your kernels' folders in it")
    found: list[Winner | Unusable] = []
    for file in kernels_below(folder):
        name = file.parent.relative_to(folder).as_posix()
        try:
            kernel = load_kernel(file)
        except InputError as error:
            found.append(Unusable(name, str(error)))
            continue
        exports = sorted(file.parent.rglob(FILE_NAME))
        found += [_exported(each.parent, folder, kernel) for each in exports] or [_of_template(name, kernel, accepted)]
    if not found:
        raise InputError("no folder below has a kernel.toml", location=Location(folder), hint="see the guide on many kernels")
    return found


def _exported(folder: Path, root: Path, kernel: Kernel) -> Winner | Unusable:
    name = folder.relative_to(root).as_posix()
    try:
        export = read_export(folder)
        return Winner(name, kernel, export.builds(kernel)[0].configuration, export)
    except InputError as error:
        return Unusable(name, str(error))


def _of_template(name: str, kernel: Kernel, accepted: Accepted) -> Winner | Unusable:
    if not kernel.parameters:
        return Unusable(name, "no winner is stored: export one into a folder next to its kernel.toml", is_wrong=False)
    configuration = accepted(name)
    if configuration is None:
        problem = "no configuration is in the baseline yet: tune the kernel, then run `warpsmith gate` with --update"
        return Unusable(name, problem, is_wrong=False)
    names = {p.name: p.values for p in kernel.parameters}
    if set(configuration) != set(names):
        return Unusable(name, f"the accepted configuration {configuration} does not have the parameters of its kernel.toml")
    return Winner(name, kernel, configuration)


def tuned_configuration(kernel: Kernel, store: Store) -> Configuration | None:
    """What the latest finished run of the kernel as it is found in its own template."""
    now = kernel_fingerprint(kernel)
    for record in store.runs():
        header = record.header
        if record.status is Status.FINISHED and record.result and (header.agent, header.fingerprint) == (NO_AGENT, now):
            return Configuration.of(require_result(record, "to judge").general.config)
    return None
