"""`export.json`: the files, their launch, the dispatch by workload, and the verification results."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from warpsmith.core.hardware import Limits
from warpsmith.core.jsonable import as_json
from warpsmith.export.base import Build, Pick, Shipment
from warpsmith.record.result import Figures
from warpsmith.spec.kernel import Argument, Buffer

FILE_NAME = "export.json"
VERSION = 1
_BESIDE = frozenset({"config", "workloads", "heldout"})


def manifest(
    shipment: Shipment, format_name: str, builds: Sequence[Build], folder: Path, recheck: Mapping[str, Any] | None
) -> dict[str, Any]:
    """`recheck` is what the exported files in `folder` themselves were put through; None where the user asked for none."""
    kernel = shipment.kernel
    own = {workload: build for build in builds[1:] for workload in build.workloads}
    general = builds[0]
    return {
        "version": VERSION,
        "kernel": kernel.name,
        "language": kernel.language.value,
        "format": format_name,
        "arguments": [_argument(argument) for argument in general.arguments],
        "limits": _limits_used(builds, shipment.limits),
        "general": _entry(general, general, folder, shipment.general),
        "dispatch": {
            workload.name: {
                "sizes": dict(workload.sizes),
                **_entry(own.get(workload.name, general), general, folder, shipment.per_workload.get(workload.name)),
            }
            for workload in kernel.workloads
        },
        "warnings": _warnings(shipment),
        "provenance": dict(shipment.provenance),
        "recheck": dict(recheck) if recheck is not None else None,
    }


def _warnings(shipment: Shipment) -> list[str]:
    """What a user of the files should know before shipping them."""
    found = []
    if shipment.general.claim.ci95[0] <= 1:
        found.append("no significant gain: the interval of the speedup includes 1")
    if shipment.targets and not shipment.limits.has_banked_scratchpad:
        where = shipment.provenance["device_description"]
        found.append(f"measured on {where}: its gain on {', '.join(shipment.targets)} was not measured")
    for workload, claim in shipment.provenance["heldout"].items():
        if claim["ci95"][1] < 1:
            found.append(f"slower than the original on the held-out workload {workload!r}: {claim['speedup']:.3f}x")
    for shape in shipment.provenance["evidence"].get("odd_shapes") or ():  # runs of earlier versions do not say it
        if not shape["passed"]:
            sizes = ", ".join(f"{name}={size}" for name, size in shape["sizes"].items())
            found.append(f"for the declared shapes only: wrong where the original is correct, at {sizes} ({shape['reason']})")
    return found


def figures_entry(claim: Figures) -> dict[str, Any]:
    """Of a claim without what stands beside it: the configuration, and the workloads that have entries of their own."""
    return {name: value for name, value in as_json(claim).items() if name not in _BESIDE}


def write_manifest(found: Mapping[str, Any], folder: Path) -> Path:
    file = folder / FILE_NAME
    file.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    return file


def _entry(build: Build, general: Build, folder: Path, pick: Pick | None) -> dict[str, Any]:
    """A workload without a pick of its own is served by the general build, whose claim stands there.

    Scalars may be folded with a configuration's values: where they are not the general one's, the entry has its own.
    """
    entry: dict[str, Any] = {
        "file": build.file.relative_to(folder).as_posix(),
        "entry": build.entry,
        "config": dict(build.configuration.pairs),
        **build.expressions,
        "requires": [condition.entry for condition in build.conditions],
    }
    if build.arguments != general.arguments:
        entry["arguments"] = [_argument(argument) for argument in build.arguments]
    return entry if pick is None else {**entry, "claim": figures_entry(pick.claim)}


def _argument(argument: Argument) -> dict[str, Any]:
    if isinstance(argument, Buffer):
        shape = [str(extent) for extent in argument.shape]
        return {"name": argument.name, "dtype": str(argument.dtype), "shape": shape, "role": argument.role.value}
    return {"name": argument.name, "dtype": str(argument.dtype), "value": str(argument.value)}


def _limits_used(builds: Sequence[Build], limits: Limits) -> dict[str, int]:
    """Device limits that a launch or a condition asks for, to be read where it runs; the values are those of the tuned device."""
    launches = [e for b in builds for e in (*b.launch.grid, *b.launch.block, b.launch.shared_bytes)]
    expressions = [*launches, *(c.expression for b in builds for c in b.conditions)]
    used = frozenset().union(*(e.names for e in expressions))
    return {name: value for name, value in limits.names().items() if name in used}
