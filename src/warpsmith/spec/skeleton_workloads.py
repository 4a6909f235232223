"""The `[workloads]` of a skeleton: the host's sizes if they are literal numbers, guesses for the rest."""

from __future__ import annotations

import re
from collections.abc import Iterable

from warpsmith.spec.host.facts import HostFacts

_HARDLY_A_SIZE = re.compile(r"stride|offset|start|begin|first|pad|seed|index|idx|bytes|limit", re.IGNORECASE)


def size_names(scalars: Iterable[str], facts: HostFacts | None, *, needs_one: bool) -> list[str]:
    """Names for guessing shapes and grids that could not be followed. A stride or an offset is the weakest hint, so others come
    first.
    """
    own = [name for name in scalars if facts is None or name not in facts.values]
    names = dict.fromkeys([*(facts.sizes if facts is not None else ()), *own])
    return sorted(names, key=is_hardly_a_size) or (["n"] if needs_one else [])


def is_hardly_a_size(name: str) -> bool:
    return _HARDLY_A_SIZE.search(name) is not None


def workload_lines(sizes: list[str], facts: HostFacts | None, file: str) -> list[str]:
    known = facts.sizes if facts is not None else {}
    usual = {name: known[name].value if name in known else 1024 for name in sizes}
    other = {name: known[name].other if name in known else 1000 for name in sizes}
    if facts is not None:
        other = {name: known[name].other if name in known else usual[name] for name in sizes}
    told = [name for name in sizes if name in known and known[name].is_known]
    name = "host" if told or (facts is not None and not sizes) else "typical"
    width = max(len(name), len("odd"))
    lines = [f"{name:<{width}} = {{ {_listed(usual)} }}{_note(sizes, told, facts, file)}" if usual else f"{name} = {{}}"]
    if other != usual:
        lines.append(f"{'odd':<{width}} = {{ {_listed(other)}, heldout = true }}")
    return lines


def _listed(sizes: dict[str, int]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in sizes.items())


def _note(sizes: list[str], told: list[str], facts: HostFacts | None, file: str) -> str:
    """Origins of the numbers, and the missing ones."""
    if facts is None:
        return ""
    parts = [f"{name} from {file}:{facts.sizes[name].line}" for name in told]
    parts += [
        f"{name} changes at {file}:{facts.sizes[name].changed_line}"
        for name in sizes
        if name in facts.sizes and facts.sizes[name].changed_line is not None
    ]
    if missing := [name for name in sizes if name not in told]:
        parts.append(f"FILL IN: {', '.join(missing)}")
    return f"   # {'; '.join(parts)}"
