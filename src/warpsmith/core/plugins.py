"""Plug-ins, found by entry point: what the registries of strategies, passes, exporters, agents and devices share."""

from __future__ import annotations

from importlib import metadata

from warpsmith.core.errors import InputError


def plugins(group: str) -> dict[str, metadata.EntryPoint]:
    """Those of a group by name. None of them is loaded."""
    return {entry.name: entry for entry in metadata.entry_points(group=group)}


def broken_plugin(kind: str, entry: metadata.EntryPoint, error: Exception) -> InputError:
    """For one that cannot be loaded; `kind` is what users call it."""
    hint = f"reinstall the package that provides {entry.value!r}"
    return InputError(f"{kind} {entry.name!r} cannot be loaded: {error}", hint=hint)
