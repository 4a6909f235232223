"""Sizes of the host's caches, as Linux reports them: how much of a launch's data they can hold."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

_CPUS = Path("/sys/devices/system/cpu")
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


@dataclass(frozen=True, slots=True)
class Caches:
    """Total bytes of the machine's caches: those before the last level, and all of them."""

    private_bytes: int
    all_bytes: int


@dataclass(frozen=True, slots=True)
class CoreCache:
    """A cache that a core uses for data; `cpus` are the hardware threads that share it."""

    level: int
    nbytes: int
    cpus: int


def core_caches(cpus: Path = _CPUS) -> tuple[CoreCache, ...]:
    """Caches of the first core, nearest first; empty if the machine does not report them."""
    found = []
    try:
        for index in sorted(cpus.glob("cpu0/cache/index[0-9]*")):
            kind, level, size, shared = (
                (index / name).read_text(encoding="ascii").strip() for name in ("type", "level", "size", "shared_cpu_map")
            )
            if kind != "Instruction":
                found.append(CoreCache(int(level), _bytes(size), int(shared.replace(",", ""), 16).bit_count()))
    except (OSError, ValueError, KeyError):
        return ()
    return tuple(sorted(found, key=lambda each: each.level))


@cache
def host_caches(cpus: Path = _CPUS) -> Caches | None:
    """Total cache sizes; None if the machine does not report them."""
    levels: dict[tuple[str, str], tuple[int, int]] = {}
    for index in cpus.glob("cpu[0-9]*/cache/index[0-9]*"):
        try:
            level, kind, size, shared = (
                (index / name).read_text(encoding="ascii").strip() for name in ("level", "type", "size", "shared_cpu_list")
            )
            if kind != "Instruction":
                levels[f"{level} {kind}", shared] = int(level), _bytes(size)
        except (OSError, ValueError, KeyError):
            return None
    if not levels:
        return None
    last = max(level for level, _ in levels.values())
    private = sum(size for level, size in levels.values() if level < last)
    return Caches(private, sum(size for _, size in levels.values()))


def _bytes(size: str) -> int:
    return int(size[:-1]) * _UNITS[size[-1]] if size[-1] in _UNITS else int(size)
