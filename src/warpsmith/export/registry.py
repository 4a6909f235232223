"""Exporters by name, found by entry point (`warpsmith.exporters`), so that others can add theirs."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import cast

from warpsmith.core.errors import InputError
from warpsmith.export.base import Exporter

GROUP = "warpsmith.exporters"
DEFAULT_FORMAT = "source"


def exporter_names() -> tuple[str, ...]:
    return tuple(sorted(entry.name for entry in entry_points(group=GROUP)))


def load_exporter(name: str) -> Exporter:
    """Raises InputError for a name that is not there and for a plug-in that cannot be loaded."""
    entry = next(iter(entry_points(group=GROUP, name=name)), None)
    if entry is None:
        raise InputError(f"no export format {name!r}", hint=f"there are: {', '.join(exporter_names()) or 'none'}")
    try:
        return cast("Exporter", entry.load()())
    except (ImportError, AttributeError, TypeError) as error:
        hint = f"reinstall the package that provides {entry.value!r}"
        raise InputError(f"export format {name!r} cannot be loaded: {error}", hint=hint) from error
