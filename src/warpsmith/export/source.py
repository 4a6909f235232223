"""The format `source`: the winner as plain source, one file for each configuration that ships, with the headers it quotes."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath

from warpsmith.core.configuration import Configuration, Value
from warpsmith.core.expression import Expression
from warpsmith.export.base import Build, Pick, Shipment
from warpsmith.refactor.constants import with_words
from warpsmith.refactor.folding import folded
from warpsmith.spec.document import read_source
from warpsmith.spec.includes import QUOTED_INCLUDE
from warpsmith.spec.kernel import Argument, Kernel, Launch, Scalar
from warpsmith.template.model import c_text
from warpsmith.template.settling import settled


class SourceExporter:
    name = "source"
    summary = "standalone source, its launch and a table of which configuration is for which workload"

    def write(self, shipment: Shipment, folder: Path) -> tuple[Build, ...]:
        kernel = shipment.kernel
        stem, suffix = kernel.source.stem.removesuffix(".template"), kernel.source.suffix
        everywhere = tuple(w.name for w in kernel.workloads)
        builds = [self._build(shipment, shipment.general, folder / f"{stem}{suffix}", everywhere)]
        alike: dict[Configuration, list[str]] = {}
        for workload, pick in shipment.per_workload.items():
            alike.setdefault(pick.configuration, []).append(workload)
        for configuration, workloads in alike.items():
            pick = shipment.per_workload[workloads[0]]
            file = folder / f"{stem}.{re.sub(r'[^A-Za-z0-9_-]+', '-', workloads[0])}{suffix}"
            builds.append(self._build(shipment, replace(pick, configuration=configuration), file, tuple(workloads)))
        _copy_includes(kernel, [build.file for build in builds], folder)
        return tuple(builds)

    def _build(self, shipment: Shipment, pick: Pick, file: Path, workloads: tuple[str, ...]) -> Build:
        kernel, configuration = shipment.kernel, pick.configuration
        values = dict(configuration)
        is_original = configuration == kernel.default_configuration and kernel.template_source is not None
        text = read_source(kernel.source) if is_original else settled(shipment.template, configuration)
        file.write_text(f"{_heading(shipment, pick)}\n{_defines(kernel)}{text}", encoding="utf-8")
        entry = kernel.entry if is_original else kernel.template_entry or kernel.entry
        return Build(
            file=file,
            configuration=configuration,
            entry=with_words(entry, {name: c_text(value) for name, value in values.items()}),
            launch=_folded_launch(kernel.launch, values),
            arguments=tuple(_folded_argument(argument, values) for argument in kernel.arguments),
            workloads=workloads,
        )


def _heading(shipment: Shipment, pick: Pick) -> str:
    claim, about = pick.claim, shipment.provenance
    low, high = claim["ci95"]
    lines = [
        f"{shipment.kernel.name} with {pick.configuration}",
        f"Exported by Warpsmith from run {shipment.run}, on {about['device_description']}:",
        f"{claim['speedup']:.3f}x the original, with a 95 % interval from {low:.3f} to {high:.3f}.",
        "How to launch it and what was verified: export.json beside this file.",
    ]
    return "".join(f"// {line}\n" for line in lines)


def _defines(kernel: Kernel) -> str:
    """What kernel.toml defines for every configuration; a compiler's -D still wins."""
    given = "".join(f"#ifndef {n}\n#define {n} {c_text(v)}\n#endif\n" for n, v in kernel.defines.items())
    return f"{given}\n" if given else ""


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


def _copy_includes(kernel: Kernel, files: list[Path], folder: Path) -> None:
    """Headers that are quoted and lie in the kernel's own folders come along; anything else is the user's build's business."""
    roots = (kernel.source.parent, *kernel.include_dirs)
    waiting = [file.read_text(encoding="utf-8") for file in files]
    while waiting:
        for name in QUOTED_INCLUDE.findall(waiting.pop()):
            place = PurePosixPath(name)
            if place.is_absolute() or ".." in place.parts or (folder / name).exists():
                continue
            found = next((root / name for root in roots if _lies_in(root, root / name)), None)
            if found is not None:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(found, folder / name)
                waiting.append(found.read_text(encoding="utf-8", errors="replace"))


def _lies_in(root: Path, file: Path) -> bool:
    return file.is_file() and file.resolve().is_relative_to(root.resolve())
