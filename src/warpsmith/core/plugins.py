"""Plug-ins, found by entry point: what the registries of strategies, passes, exporters, agents and devices share."""

from __future__ import annotations

from importlib import metadata

from warpsmith.core.errors import InputError


def plugins(group: str) -> dict[str, metadata.EntryPoint]:
    """Those of a group by name; none of them is loaded. Raises InputError for two things of one name."""
    found: dict[str, metadata.EntryPoint] = {}
    for entry in metadata.entry_points(group=group):
        other = found.setdefault(entry.name, entry)
        if other.value != entry.value:
            what = f"two plug-ins of {group} are named {entry.name!r}: {other.value} and {entry.value}"
            raise InputError(what, hint="rename one of them, or uninstall its package")
    return found


def broken_plugin(kind: str, entry: metadata.EntryPoint, error: Exception) -> InputError:
    """For one that cannot be loaded; `kind` is what users call it."""
    hint = f"reinstall the package that provides {entry.value!r}"
    return InputError(f"{kind} {entry.name!r} cannot be loaded: {error}", hint=hint)
