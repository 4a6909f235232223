"""Reads an export back from its `export.json`, to verify the files again."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from warpsmith.core.configuration import Configuration
from warpsmith.core.errors import InputError, Location
from warpsmith.core.expression import Expression
from warpsmith.export.base import Build
from warpsmith.export.manifest import FILE_NAME, VERSION
from warpsmith.spec.kernel import Argument, Kernel, Launch, Scalar


@dataclass(frozen=True, slots=True)
class EarlierExport:
    folder: Path
    manifest: Mapping[str, Any]

    @property
    def run(self) -> str:
        with self._damage():
            return str(self.manifest["provenance"]["run"])

    def builds(self, kernel: Kernel) -> tuple[Build, ...]:
        """The general one first, as they were written. `kernel` is that of the choices that they were made from."""
        with self._damage():
            return self._builds(kernel)

    @contextlib.contextmanager
    def _damage(self) -> Iterator[None]:
        try:
            yield
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            where = Location(self.folder / FILE_NAME)
            raise InputError(f"this export is damaged: {type(error).__name__}: {error}", location=where, hint=_HINT) from error

    def _builds(self, kernel: Kernel) -> tuple[Build, ...]:
        general = self._build(self.manifest["general"], tuple(self.manifest["dispatch"]), kernel)
        own: dict[tuple[str, str], list[str]] = {}
        for workload, entry in self.manifest["dispatch"].items():
            own.setdefault((entry["file"], entry["entry"]), []).append(workload)
        own.pop((self.manifest["general"]["file"], general.entry), None)
        others = (self._build(self.manifest["dispatch"][names[0]], tuple(names), kernel) for names in own.values())
        return (general, *others)

    def _build(self, entry: Mapping[str, Any], workloads: tuple[str, ...], kernel: Kernel) -> Build:
        file = self.folder / entry["file"]
        if not file.is_file():
            raise InputError("this file of export.json is missing", location=Location(file), hint="export the run again")
        grid, block = (tuple(map(Expression.parse, entry[key])) for key in ("grid", "block"))
        arguments = _arguments(entry.get("arguments", self.manifest["arguments"]), kernel)
        launch = Launch(grid, block, Expression.parse(entry["shared"]))
        return Build(file, Configuration.of(entry["config"]), entry["entry"], launch, arguments, workloads)


def is_export(name: str) -> bool:
    """Whether a name that may also be a run's means a folder."""
    return (Path(name) / FILE_NAME).is_file() or (os.sep in name and Path(name).is_dir())


def read_export(folder: Path) -> EarlierExport:
    """Raises InputError for a folder that no export wrote, or another version of Warpsmith did."""
    file = folder / FILE_NAME
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"there is no {FILE_NAME} in this folder", location=Location(folder), hint=_HINT) from None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"cannot be read: {error}", location=Location(file), hint=_HINT) from error
    missing = {"version", "provenance", "general", "dispatch", "arguments"} - set(found if isinstance(found, dict) else ())
    if missing:
        raise InputError(f"not an export: {', '.join(sorted(missing))} missing", location=Location(file), hint=_HINT)
    if found["version"] != VERSION:
        raise InputError(f"the export has version {found['version']}, not {VERSION}", location=Location(file), hint=_HINT)
    return EarlierExport(folder, found)


_HINT = "`warpsmith export RUN -o DIR` writes one"


def _arguments(entries: Sequence[Mapping[str, Any]], kernel: Kernel) -> tuple[Argument, ...]:
    """The kernel's own, with the exported values of scalars: how buffers are filled is not in an export."""
    values = {entry["name"]: entry["value"] for entry in entries if "value" in entry}
    return tuple(
        replace(a, value=Expression.parse(values[a.name])) if isinstance(a, Scalar) and a.name in values else a
        for a in kernel.arguments
    )
