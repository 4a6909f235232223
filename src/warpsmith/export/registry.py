"""Exporters by name, found by entry point (`warpsmith.exporters`), so that others can add theirs."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import cast

from warpsmith.core.errors import InputError
from warpsmith.core.plugins import broken_plugin, plugins
from warpsmith.export.base import Exporter

GROUP = "warpsmith.exporters"
DEFAULT_FORMAT = "source"


def exporter_names() -> tuple[str, ...]:
    return tuple(sorted(plugins(GROUP)))


def load_exporter(name: str) -> Exporter:
    """Raises InputError for a name that is not there and for a plug-in that cannot be loaded."""
    entry = next(iter(entry_points(group=GROUP, name=name)), None)  # the first of several that share it
    if entry is None:
        raise InputError(f"unknown export format {name!r}", hint=f"there are: {', '.join(exporter_names()) or 'none'}")
    try:
        return cast("Exporter", entry.load()())
    except (ImportError, AttributeError, TypeError) as error:
        raise broken_plugin("export format", entry, error) from error
