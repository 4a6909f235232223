"""The exported configurations, without parameters: source, entry, launch and arguments.

What every format has in common; which files that becomes is the format's own business.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from textwrap import shorten

from warpsmith.core.configuration import Configuration
from warpsmith.core.plain_text import in_a_comment
from warpsmith.export.base import Build, Pick, Shipment, Standalone
from warpsmith.spec.kernel import Kernel
from warpsmith.template.directives import object_defines
from warpsmith.template.model import c_text

_LONGEST_IDEA = 300  # characters


@dataclass(frozen=True, slots=True)
class Part:
    """`workloads` are those that it is meant for."""

    pick: Pick
    workloads: tuple[str, ...]
    is_general: bool
    alone: Standalone

    def build(self, file: Path, entry: str | None = None) -> Build:
        alone = self.alone
        configuration = self.pick.configuration
        return Build(file, configuration, entry or alone.entry, alone.launch, alone.arguments, self.workloads, alone.conditions)


def parts_of(shipment: Shipment) -> tuple[Part, ...]:
    """The general one first, for every workload; then one for each other configuration, with the workloads it is better on."""
    alike: dict[Configuration, list[str]] = {}
    for workload, pick in shipment.per_workload.items():
        alike.setdefault(pick.configuration, []).append(workload)
    own = (
        Part(shipment.per_workload[names[0]], tuple(names), False, shipment.choices.standalone(configuration))
        for configuration, names in alike.items()
    )
    return (part_for_all(shipment, shipment.choices.standalone(shipment.general.configuration)), *own)


def part_for_all(shipment: Shipment, alone: Standalone) -> Part:
    """The general configuration, as it is given."""
    everywhere = tuple(workload.name for workload in shipment.kernel.workloads)
    return Part(shipment.general, everywhere, is_general=True, alone=alone)


def plain_name(workload: str) -> str:
    """A workload's name as part of a file's."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", workload)


def heading(shipment: Shipment, part: Part) -> str:
    """What a reader of the file should know first, as comment lines."""
    pick, about = part.pick, shipment.provenance
    claim = pick.claim
    low, high = claim.ci95
    lines = [
        f"{shipment.kernel.name} with {pick.configuration}",
        f"Exported by Warpsmith from run {shipment.run}, on {about['device_description']}:",
        f"{claim.speedup:.3f}x the original, with a 95 % interval from {low:.3f} to {high:.3f}.",
        "How to launch it and what was verified: export.json beside this file.",
        *([f"The idea: {shorten(part.alone.idea, _LONGEST_IDEA, placeholder=' ...')}"] if part.alone.idea else []),
        *(
            f"Tested, not proved: {p.name}={pick.configuration[p.name]} is right if {p.assumes}."
            for p in shipment.kernel.parameters
            if p.assumes and pick.configuration[p.name] != p.default
        ),
        *(f"Only where {c.expression.text}" + (f": {c.reason}." if c.reason else ".") for c in part.alone.conditions),
    ]
    return "".join(f"// {in_a_comment(line)}\n" for line in lines)


def file_stem(kernel: Kernel) -> str:
    return kernel.source.stem.removesuffix(".template")


def with_defines(text: str, kernel: Kernel) -> str:
    """With what kernel.toml defines for every configuration, but where a parameter took its place; a compiler's -D still wins."""
    own = {define.name for define in object_defines(text)} & {parameter.name for parameter in kernel.parameters}
    given = [f"#ifndef {n}\n#define {n} {c_text(v)}\n#endif\n" for n, v in kernel.defines.items() if n not in own]
    return "".join([*given, "\n", text]) if given else text
