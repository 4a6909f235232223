"""The types of exporting: the data to export (`Shipment`), its source (`Choices`), written files (`Build`), and who writes
it (`Exporter`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from warpsmith.core.configuration import Configuration
from warpsmith.core.expression import Expression
from warpsmith.core.hardware import Limits
from warpsmith.core.outcome import Evaluation
from warpsmith.record.result import Figures
from warpsmith.spec.kernel import Argument, Constraint, Kernel, Launch, Workload
from warpsmith.template import Template


@dataclass(frozen=True, slots=True)
class Pick:
    """A configuration that ships, with what the run claims of it"""

    configuration: Configuration
    claim: Figures


@dataclass(frozen=True, slots=True)
class Standalone:
    """A kernel with nothing left to choose. `origin` is the file that `text` was made from, where `#include`s belong."""

    origin: Path
    text: str
    entry: str
    launch: Launch
    arguments: tuple[Argument, ...]
    conditions: tuple[Constraint, ...] = ()
    """What must hold of the sizes and the device: elsewhere it is wrong or cannot run."""
    idea: str = ""
    """Of a whole rewrite: what its author, who may be a model, said of it."""


class Choices(Protocol):
    """What a run chose from: each configuration is a kernel of its own, and the default one is the original."""

    @property
    def kernel(self) -> Kernel:
        """Its parameters are those that configurations have values of."""
        ...

    @property
    def template(self) -> Template | None:
        """The one that was searched last; None where whole kernels were rewritten."""
        ...

    def standalone(self, configuration: Configuration) -> Standalone:
        """Raises InputError for what may not be compiled, whatever the run made of it."""
        ...


@dataclass(frozen=True, slots=True)
class Shipment:
    """`per_workload` has picks that are better there. `evaluations` are all that the run made, in the parameters of `kernel`."""

    run: str
    choices: Choices
    limits: Limits  # of the device that it was tuned on
    general: Pick
    per_workload: Mapping[str, Pick]
    provenance: Mapping[str, Any]
    evaluations: tuple[Evaluation, ...] = ()
    targets: tuple[str, ...] = ()
    """GPUs that it can run on, as `analyze --target` names them: the run's own, and those that it also compiled for."""
    adversaries: tuple[Workload, ...] = ()
    """What a tester added to the run's verification."""
    kernel_file: Path | None = None
    """The kernel.toml that the user brought; `kernel` may be a template of the run's own."""

    @property
    def kernel(self) -> Kernel:
        return self.choices.kernel

    @property
    def template(self) -> Template | None:
        return self.choices.template


@dataclass(frozen=True, slots=True)
class Build:
    """One source file that was written: a configuration with nothing left to choose, and the workloads it is meant for."""

    file: Path
    configuration: Configuration
    entry: str
    launch: Launch
    arguments: tuple[Argument, ...]
    workloads: tuple[str, ...]
    conditions: tuple[Constraint, ...] = ()
    """What must hold of the sizes and the device: elsewhere it is wrong or cannot run."""

    def alone(self, plain: Kernel) -> Kernel:
        """As a kernel of its own: the file as it lies there, nothing defined for it and no folders named.

        `plain` is the kernel without its template.
        """
        return replace(
            plain,
            source=self.file,
            entry=self.entry,
            arguments=self.arguments,
            launch=self.launch,
            defines={},
            include_dirs=(),
        )

    @property
    def expressions(self) -> dict[str, list[str] | str]:
        """The launch over workload sizes and device limits, as in kernel.toml."""
        return {
            "grid": [_shown(extent) for extent in self.launch.grid],
            "block": [_shown(extent) for extent in self.launch.block],
            "shared": _shown(self.launch.shared_bytes),
        }


class Exporter(Protocol):
    """`name` is what `--format` takes."""

    name: str
    summary: str

    def write(self, shipment: Shipment, folder: Path) -> tuple[Build, ...]:
        """Writes into a folder that is empty. The first build is the general one, for every workload."""
        ...


def _shown(expression: Expression) -> str:
    return " ".join(expression.text.split())
