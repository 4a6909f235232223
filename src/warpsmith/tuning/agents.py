"""Agents by name, found by entry point; the built-in ones live in `warpsmith.agents`."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import cast

from warpsmith.core.errors import InputError
from warpsmith.spec.kernel import Kernel
from warpsmith.tuning.planning import Agent

RULES = "rules"
NO_AGENT = "none"  # the kernel's own template is searched as it is


def default_agent(kernel: Kernel) -> str:
    """Who brings a template of their own wants it searched; everybody else wants one made."""
    return NO_AGENT if kernel.parameters else RULES


def load_agent(name: str) -> Agent:
    found = {entry.name: entry for entry in entry_points(group="warpsmith.agents")}
    if name not in found:
        raise InputError(f"no agent {name!r}", hint=f"there are {', '.join([*sorted(found), NO_AGENT])}")
    return cast("Agent", found[name].load()())
