"""Writes a shipment: first into a temporary folder, then, once verified, into the requested one."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from warpsmith.core.errors import InputError, Location
from warpsmith.core.output_folder import require_output_folder
from warpsmith.export.base import Build, Shipment
from warpsmith.export.manifest import FILE_NAME, manifest, write_manifest
from warpsmith.export.registry import load_exporter

Recheck: TypeAlias = Callable[[Sequence[Build]], Mapping[str, Any]]


def deliver(shipment: Shipment, format_name: str, output: Path, recheck: Recheck | None) -> dict[str, Any]:
    """The manifest, with `folder` and `files`. Nothing is left behind in `output` when the test fails."""
    exporter = load_exporter(format_name)
    _check_folder(output)
    output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=output.parent, prefix=f".{output.name}-") as scratch:
        folder = Path(scratch)
        builds = exporter.write(shipment, folder)
        shown = recheck(builds) if recheck is not None else None
        found = manifest(shipment, exporter.name, builds, folder, shown)
        files = sorted(str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file())
        write_manifest({**found, "files": files}, folder)
        _remove_earlier(output)
        shutil.copytree(folder, output, dirs_exist_ok=True)
    return {"folder": str(output), "manifest": str(output / FILE_NAME), **found, "files": files}


def _check_folder(output: Path) -> None:
    """An earlier export may be written over; what somebody else put there may not."""
    require_output_folder(output)
    if output.is_dir() and any(output.iterdir()) and not (output / FILE_NAME).is_file():
        raise InputError(
            "the folder contains files that are not from an export", location=Location(output), hint="choose another folder"
        )


def _remove_earlier(output: Path) -> None:
    before = output / FILE_NAME
    if before.is_file():
        for name in json.loads(before.read_text(encoding="utf-8")).get("files", ()):
            (output / name).unlink(missing_ok=True)
