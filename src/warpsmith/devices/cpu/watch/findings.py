"""Formats the findings of watched launches."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from warpsmith.core.hardware import Dim3
from warpsmith.devices.cpu.shared_memory import DYNAMIC_SHARED
from warpsmith.devices.cpu.watch import hooks
from warpsmith.devices.cpu.watch.facts import Watch

_FIELDS = 5
_LOCAL_NAME = re.compile(r"(?:E|^_ZL)(\d+)(?=\D)")  # of a variable inside a function, or of a file's own: its length comes first
_WORDS = {0: ("writes", "reads"), 1: ("reads", "writes"), 2: ("writes", "writes")}


@dataclass(frozen=True, slots=True)
class Place:
    """A variable in shared memory, or a buffer."""

    name: str
    is_shared: bool
    nbytes: int | None = None

    def __str__(self) -> str:
        return f"shared memory {variable_name(self.name)!r}" if self.is_shared else f"{self.name!r}"


def races(words: Sequence[int], places: Sequence[Place], lines: Sequence[int], blocks: Sequence[int], block: Dim3) -> list[str]:
    """One sentence per pair of source positions. `words` is the device's output: a count, then the findings."""
    found: dict[tuple[int, ...], str] = {}
    for kind, earlier, later, place, offset in _findings(words):
        first, second = _Access.of(earlier, lines), _Access.of(later, lines)
        key = (kind, place, first.line, second.line)
        if key not in found:
            found[key] = _sentence(_WORDS[kind], first, second, places[place], offset, blocks, block)
    return list(found.values())


def strays(words: Sequence[int], places: Sequence[Place], watch: Watch, blocks: Sequence[int], block: Dim3) -> list[str]:
    """One sentence per source position with an out-of-bounds or misaligned access."""
    found: dict[tuple[int, ...], str] = {}
    for kind, tag, nbytes, place, raw in _findings(words):
        access = _Access.of(tag, watch.lines)
        at = f" at line {access.line}" if access.line else ""
        who = _thread(access.thread, block) + (f" of block {blocks[access.watched_block]}" if len(blocks) > 1 else "")
        if kind == hooks.STRAY_OWN and access.site in watch.assumptions:
            found.setdefault((kind, access.line), f"{who} violates an assumption given to the compiler{at}")
            continue
        if kind == hooks.STRAY_OWN:
            found.setdefault((kind, access.line), f"an array of the thread's own: {who} indexes it out of bounds{at}")
            continue
        offset = raw - (1 << 64) if raw >> 63 else raw
        if kind == hooks.INPUT_WRITE:
            told = f"{places[place]}, an input: {who} writes bytes {offset} to {offset + nbytes - 1}{at}"
            found.setdefault((kind, access.line, place), told)
            continue
        if kind == hooks.MISALIGNED:
            last = offset + (nbytes & hooks.MOST_BYTES) - 1
            told = f"{places[place]}: {who} accesses bytes {offset} to {last}{at}, misaligned: the type requires {nbytes >> 32}"
            found.setdefault((kind, access.line, place), told)
            continue
        size = places[place].nbytes
        does = "reads" if kind == hooks.STRAY_READ else "writes"
        beyond = f"{offset + nbytes - size} bytes past its end" if size is not None else "past its end"
        beyond = f"{-offset} bytes before its beginning" if offset < 0 else beyond
        if size == 0:
            beyond = "which is empty"
        told = f"{places[place]}: {who} {does} bytes {offset} to {offset + nbytes - 1}{at}, {beyond}"
        found.setdefault((kind, access.line, place), told)
    return list(found.values())


def _findings(words: Sequence[int]) -> Iterator[tuple[int, ...]]:
    for start in range(1, 1 + min(words[0], hooks.MAX_FINDINGS) * _FIELDS, _FIELDS):
        yield tuple(words[start : start + _FIELDS])


@dataclass(frozen=True, slots=True)
class _Access:
    thread: int
    watched_block: int
    line: int
    site: int

    @classmethod
    def of(cls, tag: int, lines: Sequence[int]) -> _Access:
        site = tag & ((1 << hooks.SITE_BITS) - 1)
        return cls(
            thread=tag >> hooks.SITE_BITS & ((1 << hooks.THREAD_BITS) - 1),
            watched_block=(tag >> hooks.BLOCK_AT & hooks.MAX_BLOCKS) - 1,
            line=lines[site - 1] if 0 < site <= len(lines) else 0,
            site=site,
        )


def _sentence(
    does: tuple[str, str], first: _Access, second: _Access, place: Place, offset: int, blocks: Sequence[int], block: Dim3
) -> str:
    same_block = first.watched_block == second.watched_block
    who = [_thread(a.thread, block) + ("" if same_block else f" of block {blocks[a.watched_block]}") for a in (first, second)]
    at = [f" at line {a.line}" if a.line else "" for a in (first, second)]
    missing = "no barrier between" if same_block else "and nothing orders the blocks"
    return f"{place}: {who[0]} {does[0]} byte {offset}{at[0]}, {who[1]} {does[1]} it{at[1]}, {missing}"


def _thread(number: int, block: Dim3) -> str:
    x, y, z = number % block[0], number // block[0] % block[1], number // (block[0] * block[1])
    return f"thread {number}" if block[1] * block[2] == 1 else f"thread ({x}, {y}, {z})"


def variable_name(symbol: str) -> str:
    """The source name: `_ZZ5shiftPfE4tile` is `tile`, OpenCL's `shift.tile` too."""
    if symbol.startswith("_Z"):
        for match in reversed(list(_LOCAL_NAME.finditer(symbol))):
            length = int(match[1])
            if len(symbol) >= match.end() + length:
                return symbol[match.end() : match.end() + length]
    return {DYNAMIC_SHARED: "extern"}.get(symbol, symbol.rpartition(".")[2] or symbol)
