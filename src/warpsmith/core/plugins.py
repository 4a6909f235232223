"""Plug-ins, found by entry point: what the registries of strategies, passes, exporters, agents and devices share."""

from __future__ import annotations

import os
import sys
from functools import lru_cache
from importlib import metadata
from typing import cast

from warpsmith.core.errors import InputError


def plugins(group: str) -> dict[str, metadata.EntryPoint]:
    """Those of a group by name; none of them is loaded. Raises InputError for two things of one name."""
    found: dict[str, metadata.EntryPoint] = {}
    for entry in _installed(_places()).select(group=group):
        other = found.setdefault(entry.name, entry)
        if other.value != entry.value:
            what = f"two plug-ins of {group} are named {entry.name!r}: {other.value} and {entry.value}"
            raise InputError(what, hint="rename one of them, or uninstall its package")
    return found


@lru_cache(maxsize=1)
def _installed(_places: tuple[tuple[str, int], ...]) -> metadata.EntryPoints:
    """Every package is asked for that, which takes longer than most of what a plug-in is then asked for."""
    return cast("metadata.EntryPoints", metadata.entry_points())  # in Python 3.11 something else, which selects as well


def _places() -> tuple[tuple[str, int], ...]:
    """Where packages are, and as of when: one may be installed while this process runs."""
    return tuple((place, _changed_ns(place)) for place in sys.path)


def _changed_ns(place: str) -> int:
    try:
        return os.stat(place or ".").st_mtime_ns  # noqa: PTH116 - often
    except OSError:
        return 0


def broken_plugin(kind: str, entry: metadata.EntryPoint, error: Exception) -> InputError:
    """For one that cannot be loaded; `kind` is what users call it."""
    hint = f"reinstall the package that provides {entry.value!r}"
    return InputError(f"{kind} {entry.name!r} cannot be loaded: {error}", hint=hint)
