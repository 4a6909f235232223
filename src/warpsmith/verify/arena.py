"""One workload's memory, shared with the measuring worker through an anonymous file: `[guard | data | guard]` per buffer.

The tuner fills it before a launch and inspects it afterwards; the worker maps it, and between timed launches fills it from the
same pool of inputs (`verify.pool`), which no kernel can write.
"""

from __future__ import annotations

import fcntl
import math
import mmap
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from warpsmith.core.arrays import Array
from warpsmith.core.dtype import DType
from warpsmith.devices.memory import PIECE_BYTES, Contents
from warpsmith.spec.kernel import Role
from warpsmith.verify.pool import FIRST, InputPool, fill

_PAGE = mmap.PAGESIZE
_MIN_GUARD, _MAX_GUARD = 64 << 10, 1 << 20
_EMPTY_VIEW = 16

# Guards repeat one 16-bit word. As a float it is NaN, so that a read past the end shows in the result: a signalling one, which
# arithmetic makes quiet, so that computing in place past the end shows in the guard. Written buffers have a different word from
# read-only ones: a kernel that copies from guard to guard leaves a trace too. As an integer, unlike 0xFFFF, it is not the -1
# that kernels often store.
_READ_ONLY_WORD, _WRITTEN_WORD = 0xFFFD, 0xFFFB
_FLOAT_WORDS = {
    DType.F64: (0xFFF5, 0xFFF3),
    DType.F32: (0xFFA5, 0xFF95),
    DType.BF16: (0xFFA5, 0xFF95),
    DType.F16: (0xFDA5, 0xFD95),
}
FLOAT_POISON = 0xFF
_POISON = np.full(PIECE_BYTES, FLOAT_POISON, np.uint8)
# Integers have no NaN: outputs get noise, no byte of which is a valid bool, so that unwritten elements differ somewhere.
_NOISE = np.tile(np.random.default_rng(0x5EED).integers(2, 256, PIECE_BYTES // 2, np.uint8), 2)
POISONED = Contents(0, places=1)
"""Contents of outputs before a launch: repetitions of what `poison_for` gives for their type."""


@dataclass(frozen=True, slots=True)
class Placement:
    """Position of a buffer's data in the arena, between guards of `guard_before` and `guard_after` bytes."""

    name: str
    offset: int
    nbytes: int
    guard_before: int
    guard_after: int

    @property
    def view_bytes(self) -> int:
        """The bytes passed to a launch. Devices refuse empty buffers, so an empty one shows the beginning of its guard."""
        return self.nbytes or _EMPTY_VIEW


@dataclass(frozen=True, slots=True)
class MemoryRegion:
    """What the arena needs to know about one buffer."""

    name: str
    dtype: DType
    shape: tuple[int, ...]
    role: Role

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


@dataclass(frozen=True, slots=True)
class Damage:
    """A forbidden memory write of a launch."""

    argument: str
    problem: str
    where: tuple[int, ...] = ()


class Arena:
    """Memory of all regions. `pool` has the initial contents of `in` and `inout` regions; arenas of the same workload may share
    it.
    """

    def __init__(self, regions: Sequence[MemoryRegion], pool: InputPool) -> None:
        self._regions = tuple(regions)
        self._pool = pool
        self.layout, size = _plan(self._regions)
        self.fd = _sealed_file("warpsmith-arena", size)
        self._bytes: Array = np.frombuffer(mmap.mmap(self.fd, size), np.uint8)
        self._places = {place.name: place for place in self.layout}
        self._intact = False
        self._draw = FIRST
        self.reset()

    @property
    def nbytes(self) -> int:
        return len(self._bytes)

    def close(self) -> None:
        """Close the descriptor; the mapping is released with the last array that views it."""
        if self.fd >= 0:
            os.close(self.fd)
        self.fd = -1

    def array(self, name: str) -> Array:
        """A live view: a later launch changes it."""
        region = next(region for region in self._regions if region.name == name)
        return self._data(region).view(region.dtype.numpy).reshape(region.shape)

    def mark_touched(self, draw: int | None = None) -> None:
        """Record a launch on this memory, the last one with inputs of that draw: the next reset must assume nothing."""
        self._intact = False
        self._draw = self._draw if draw is None else draw

    def reset(self, draw: int = FIRST) -> None:
        """Prepare for a launch. Inputs and guards are rewritten unless the last inspection found them intact."""
        same, self._draw = draw == self._draw, draw
        for region in self._regions:
            data = self._data(region)
            match region.role:
                case Role.IN if self._intact and same:
                    pass
                case Role.IN | Role.INOUT:
                    self._pool.fill(region.name, draw, data)
                case Role.OUT:
                    poison(data, region.dtype)
            if not self._intact:
                for start, end in self._guards(region.name):
                    np.copyto(self._bytes[start:end], _guard_bytes(region, start, end))
        self._intact = False

    def inspect(self, *, inputs: bool = True) -> list[Damage]:
        """Forbidden writes of the launches since the last reset: outside buffers, and to inputs."""
        found: list[Damage] = []
        for region in self._regions:
            found += self._guard_damage(region)
            if region.role is Role.IN and inputs:
                found += self._input_damage(region)
        self._intact = inputs and not found
        return found

    def _guard_damage(self, region: MemoryRegion) -> list[Damage]:
        name, found = region.name, []
        place = self._places[name]
        for start, end in self._guards(name):
            hits = np.flatnonzero(self._bytes[start:end] != _guard_bytes(region, start, end))
            if hits.size:
                distance, side = int(hits[0]), "past its end"
                if start < place.offset:
                    distance, side = end - start - int(hits[-1]), "before its beginning"
                found.append(Damage(name, f"written out of bounds: {hits.size} bytes, nearest {distance} bytes {side}"))
        return found

    def _input_damage(self, region: MemoryRegion) -> list[Damage]:
        changed = self._pool.first_difference(region.name, self._draw, self._data(region))
        if changed is None:
            return []
        where = tuple(int(i) for i in np.unravel_index(changed // region.dtype.itemsize, region.shape))
        return [Damage(region.name, f"an input was changed, first at {list(where)}", where)]

    def _data(self, region: MemoryRegion) -> Array:
        place = self._places[region.name]
        return self._bytes[place.offset : place.offset + place.nbytes]

    def _guards(self, name: str) -> tuple[tuple[int, int], tuple[int, int]]:
        """Where both guards start and end in the arena."""
        place = self._places[name]
        end = place.offset + place.nbytes
        return (place.offset - place.guard_before, place.offset), (end, end + place.guard_after)


def _plan(regions: Sequence[MemoryRegion]) -> tuple[tuple[Placement, ...], int]:
    """Data begins on a page; its guard begins at the very next byte, so that one extra element is detected."""
    layout, offset = [], 0
    for region in regions:
        guard = _to_page(min(max(region.nbytes // 16, _MIN_GUARD), _MAX_GUARD))
        data = offset + guard
        offset = _to_page(data + region.nbytes) + guard
        after = offset - data - region.nbytes
        layout.append(Placement(region.name, data, region.nbytes, guard, after))
    return tuple(layout), max(offset, _PAGE)


def _to_page(size: int) -> int:
    return -(-size // _PAGE) * _PAGE


def _sealed_file(name: str, size: int) -> int:
    """A file sealed against resizing: a worker that shrank it would crash the tuner at its next access."""
    fd = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, size)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
    return fd


def _guard_bytes(region: MemoryRegion, start: int, end: int) -> Array:
    """The pattern stays aligned to the arena, also after a buffer of odd size."""
    read_only, written = _FLOAT_WORDS.get(region.dtype, (_READ_ONLY_WORD, _WRITTEN_WORD))
    return _repeated(read_only if region.role is Role.IN else written)[start % 2 : start % 2 + end - start]


@cache
def _repeated(word: int) -> Array:
    return np.full((_MAX_GUARD + 2 * _PAGE) // 2, word, "<u2").view(np.uint8)


def poison_for(dtype: DType) -> Array:
    """Bytes that no kernel writes as a computed result."""
    return _POISON if dtype.is_float else _NOISE


def poison(data: Array, dtype: DType) -> None:
    fill(data, poison_for(dtype), POISONED)
