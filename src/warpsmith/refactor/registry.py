"""Passes by name, found by entry point (`warpsmith.passes`), so that others can add theirs; in the order they are applied."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import EntryPoint
from typing import cast

from warpsmith.core.errors import InputError
from warpsmith.core.plugins import broken_plugin, plugins
from warpsmith.refactor.base import Pass
from warpsmith.refactor.on_form import OnForm, parted
from warpsmith.spec.problems import did_you_mean

GROUP = "warpsmith.passes"


def load_passes(names: Iterable[str] | None = None) -> list[Pass]:
    """The named passes (all, when none are named), by stage, then priority, then name; `unroll@2` is unroll on form 2.

    Raises InputError for a name that is not there and for a plug-in that cannot be loaded.
    """
    found = plugins(GROUP)
    wanted = sorted(found) if names is None else list(dict.fromkeys(names))
    requests = [parted(request) for request in wanted]
    for name, _ in requests:
        if name not in found:
            listed = ", ".join(sorted(found)) or "none"
            raise InputError(f"no pass {name!r}; there are: {listed}", hint=did_you_mean(name, found))
    return in_order(OnForm(_load(found[name]), form) if form else _load(found[name]) for name, form in requests)


def in_order(passes: Iterable[Pass]) -> list[Pass]:
    # A pass may say `priority` (default 0); the smaller goes first among those of its stage.
    return sorted(passes, key=lambda transform: (transform.stage, getattr(transform, "priority", 0), transform.name))


def _load(entry: EntryPoint) -> Pass:
    try:
        return cast("Pass", entry.load()())
    except (ImportError, AttributeError, TypeError) as error:
        raise broken_plugin("pass", entry, error) from error
