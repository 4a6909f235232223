"""What watched launches found, in words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from warpsmith.core.hardware import Dim3
from warpsmith.devices.cpu.watch import hooks

_FIELDS = 5
_LOCAL_NAME = re.compile(r"(?:E|^_ZL)(\d+)(?=\D)")  # of a variable inside a function, or of a file's own: its length comes first
_WORDS = {0: ("writes", "reads"), 1: ("reads", "writes"), 2: ("writes", "writes")}


@dataclass(frozen=True, slots=True)
class Place:
    """A variable in shared memory, or a buffer."""

    name: str
    is_shared: bool


def described(
    words: Sequence[int], places: Sequence[Place], lines: Sequence[int], blocks: Sequence[int], block: Dim3
) -> list[str]:
    """One sentence for each pair of places in the source. `words` is what the device wrote: how many, then the findings."""
    count = min(words[0], hooks.MAX_FINDINGS)
    found: dict[tuple[int, ...], str] = {}
    for start in range(1, 1 + count * _FIELDS, _FIELDS):
        kind, earlier, later, place, offset = words[start : start + _FIELDS]
        first, second = _Access.of(earlier, lines), _Access.of(later, lines)
        key = (kind, place, first.line, second.line)
        if key not in found:
            found[key] = _sentence(_WORDS[kind], first, second, places[place], offset, blocks, block)
    return list(found.values())


@dataclass(frozen=True, slots=True)
class _Access:
    thread: int
    watched_block: int
    line: int

    @classmethod
    def of(cls, tag: int, lines: Sequence[int]) -> _Access:
        site = tag & ((1 << hooks.SITE_BITS) - 1)
        return cls(
            thread=tag >> hooks.SITE_BITS & ((1 << hooks.THREAD_BITS) - 1),
            watched_block=(tag >> hooks.BLOCK_AT & hooks.MAX_BLOCKS) - 1,
            line=lines[site - 1] if 0 < site <= len(lines) else 0,
        )


def _sentence(
    does: tuple[str, str], first: _Access, second: _Access, place: Place, offset: int, blocks: Sequence[int], block: Dim3
) -> str:
    where = f"shared memory {variable_name(place.name)!r}" if place.is_shared else f"{place.name!r}"
    same_block = first.watched_block == second.watched_block
    who = [_thread(a.thread, block) + ("" if same_block else f" of block {blocks[a.watched_block]}") for a in (first, second)]
    at = [f" at line {a.line}" if a.line else "" for a in (first, second)]
    missing = "no barrier between" if same_block else "and blocks run in any order"
    return f"{where}: {who[0]} {does[0]} byte {offset}{at[0]}, {who[1]} {does[1]} it{at[1]}, {missing}"


def _thread(number: int, block: Dim3) -> str:
    x, y, z = number % block[0], number // block[0] % block[1], number // (block[0] * block[1])
    return f"thread {number}" if block[1] * block[2] == 1 else f"thread ({x}, {y}, {z})"


def variable_name(symbol: str) -> str:
    """As the source has it: `_ZZ5shiftPfE4tile` is `tile`, OpenCL's `shift.tile` too."""
    if symbol.startswith("_Z"):
        for match in reversed(list(_LOCAL_NAME.finditer(symbol))):
            length = int(match[1])
            if len(symbol) >= match.end() + length:
                return symbol[match.end() : match.end() + length]
    return {"__warpsmith_dynamic_shared": "extern"}.get(symbol, symbol.rpartition(".")[2] or symbol)
