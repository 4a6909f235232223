"""The configurations that ship, each with nothing left to choose: its source, entry, launch and arguments.

What every format has in common; which files that becomes is the format's own business.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from warpsmith.core.configuration import Configuration, Value
from warpsmith.core.expression import Expression
from warpsmith.export.base import Build, Pick, Shipment
from warpsmith.refactor.constants import with_words
from warpsmith.refactor.folding import folded
from warpsmith.spec.document import read_source
from warpsmith.spec.kernel import Argument, Constraint, Kernel, Launch, Scalar
from warpsmith.template.directives import object_defines
from warpsmith.template.model import c_text
from warpsmith.template.settling import settled


@dataclass(frozen=True, slots=True)
class Part:
    """`workloads` are those that it is meant for. `origin` is the file that `text` was made from, where `#include`s belong."""

    pick: Pick
    workloads: tuple[str, ...]
    is_general: bool
    origin: Path
    text: str
    entry: str
    launch: Launch
    arguments: tuple[Argument, ...]
    conditions: tuple[Constraint, ...]

    def build(self, file: Path, entry: str | None = None) -> Build:
        return Build(
            file, self.pick.configuration, entry or self.entry, self.launch, self.arguments, self.workloads, self.conditions
        )


def parts_of(shipment: Shipment) -> tuple[Part, ...]:
    """The general one first, for every workload; then one for each other configuration, with the workloads it is better on."""
    everywhere = tuple(workload.name for workload in shipment.kernel.workloads)
    alike: dict[Configuration, list[str]] = {}
    for workload, pick in shipment.per_workload.items():
        alike.setdefault(pick.configuration, []).append(workload)
    own = (_part(shipment, shipment.per_workload[names[0]], tuple(names), is_general=False) for names in alike.values())
    return (_part(shipment, shipment.general, everywhere, is_general=True), *own)


def part_for_all(shipment: Shipment) -> Part:
    """The general configuration as the template has it, whether or not it is the original."""
    everywhere = tuple(workload.name for workload in shipment.kernel.workloads)
    return _part(shipment, shipment.general, everywhere, is_general=True, from_template=True)


def plain_name(workload: str) -> str:
    """A workload's name as part of a file's."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", workload)


def heading(shipment: Shipment, part: Part) -> str:
    """What a reader of the file should know first, as comment lines."""
    pick, about = part.pick, shipment.provenance
    claim = pick.claim
    low, high = claim["ci95"]
    lines = [
        f"{shipment.kernel.name} with {pick.configuration}",
        f"Exported by Warpsmith from run {shipment.run}, on {about['device_description']}:",
        f"{claim['speedup']:.3f}x the original, with a 95 % interval from {low:.3f} to {high:.3f}.",
        "How to launch it and what was verified: export.json beside this file.",
        *(f"Only where {c.expression.text}" + (f": {c.reason}." if c.reason else ".") for c in part.conditions),
    ]
    return "".join(f"// {line}\n" for line in lines)


def file_stem(kernel: Kernel) -> str:
    return kernel.source.stem.removesuffix(".template")


def with_defines(text: str, kernel: Kernel) -> str:
    """With what kernel.toml defines for every configuration, but where a parameter took its place; a compiler's -D still wins."""
    own = {define.name for define in object_defines(text)} & {parameter.name for parameter in kernel.parameters}
    given = [f"#ifndef {n}\n#define {n} {c_text(v)}\n#endif\n" for n, v in kernel.defines.items() if n not in own]
    return "".join([*given, "\n", text]) if given else text


def _part(shipment: Shipment, pick: Pick, workloads: tuple[str, ...], *, is_general: bool, from_template: bool = False) -> Part:
    kernel, configuration = shipment.kernel, pick.configuration
    values = dict(configuration)
    is_default = configuration == kernel.default_configuration
    is_original = is_default and kernel.template_source is not None and not from_template
    entry = kernel.entry if is_original else kernel.template_entry or kernel.entry
    return Part(
        pick=pick,
        workloads=workloads,
        is_general=is_general,
        origin=kernel.source if is_original else shipment.template.path,
        text=read_source(kernel.source) if is_original else settled(shipment.template, configuration),
        entry=with_words(entry, {name: c_text(value) for name, value in values.items()}),
        launch=_folded_launch(kernel.launch, values),
        arguments=tuple(_folded_argument(argument, values) for argument in kernel.arguments),
        conditions=() if is_original else _conditions(shipment, values),
    )


def _conditions(shipment: Shipment, values: Mapping[str, Value]) -> tuple[Constraint, ...]:
    """The constraints as far as the configuration leaves something to ask of sizes and devices."""
    asked = (replace(c, expression=_folded(c.expression, values)) for c in shipment.template.constraints)
    return tuple(constraint for constraint in asked if constraint.expression.names)


def _folded_launch(launch: Launch, values: Mapping[str, Value]) -> Launch:
    return Launch(
        tuple(_folded(extent, values) for extent in launch.grid),
        tuple(_folded(extent, values) for extent in launch.block),
        _folded(launch.shared_bytes, values),
    )


def _folded_argument(argument: Argument, values: Mapping[str, Value]) -> Argument:
    return replace(argument, value=_folded(argument.value, values)) if isinstance(argument, Scalar) else argument


def _folded(expression: Expression, values: Mapping[str, Value]) -> Expression:
    return Expression.parse(folded(expression, values)) if expression.names & values.keys() else expression
