"""One workload's memory, shared with the measuring worker through an anonymous file: for every buffer `[guard | data | guard]`.

The tuner fills it before a launch and inspects it afterwards; the worker only maps it. Pristine inputs stay in the tuner's own
memory, where no kernel can reach them.
"""

from __future__ import annotations

import fcntl
import math
import mmap
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from warpsmith.core.arrays import Array
from warpsmith.core.dtype import DType
from warpsmith.spec.kernel import Role

_PAGE = mmap.PAGESIZE
_MIN_GUARD, _MAX_GUARD = 64 << 10, 1 << 20
_EMPTY_VIEW = 16
_CHUNK = 1 << 18

# Guards are one 16-bit word over and over. As a float it is NaN, so that what reads past the end shows in the result: a
# signalling one, which arithmetic makes quiet, so that computing in place past the end shows in the guard. A buffer that is
# written has another word than one that is only read: a kernel that copies from guard to guard leaves a trace too. For
# integers, unlike 0xFFFF, it is not the -1 that kernels like to store.
_READ_ONLY_WORD, _WRITTEN_WORD = 0xFFFD, 0xFFFB
_FLOAT_WORDS = {
    DType.F64: (0xFFF5, 0xFFF3),
    DType.F32: (0xFFA5, 0xFF95),
    DType.BF16: (0xFFA5, 0xFF95),
    DType.F16: (0xFDA5, 0xFD95),
}
FLOAT_POISON = 0xFF
# Integers have no NaN: outputs get noise, no byte of which is a valid bool, so that what was not written differs somewhere.
_NOISE = np.random.default_rng(0x5EED).integers(2, 256, 1 << 16, np.uint8)


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a buffer's data lies in the arena, between guards of `guard_before` and `guard_after` bytes."""

    name: str
    offset: int
    nbytes: int
    guard_before: int
    guard_after: int

    @property
    def view_bytes(self) -> int:
        """What a launch is given: devices refuse buffers of no size, so an empty one shows the beginning of its guard."""
        return self.nbytes or _EMPTY_VIEW


@dataclass(frozen=True, slots=True)
class Region:
    """What the arena has to know of one buffer."""

    name: str
    dtype: DType
    shape: tuple[int, ...]
    role: Role

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


@dataclass(frozen=True, slots=True)
class Damage:
    """Something that a launch must not do to memory."""

    argument: str
    problem: str
    where: tuple[int, ...] = ()


class Arena:
    """`values` has the initial contents of `in` and `inout` regions; they are kept, not copied."""

    def __init__(self, regions: Sequence[Region], values: Mapping[str, Array]) -> None:
        self._regions = tuple(regions)
        self._pristine = {r.name: np.ascontiguousarray(values[r.name]) for r in regions if r.role is not Role.OUT}
        self.layout, size = _plan(self._regions)
        self.fd = _sealed_file("warpsmith-arena", size)
        self.restore_fd = self._restore_file(size)
        self._bytes: Array = np.frombuffer(mmap.mmap(self.fd, size), np.uint8)
        self._places = {place.name: place for place in self.layout}
        self._intact = False
        self.reset()

    @property
    def nbytes(self) -> int:
        return len(self._bytes)

    def close(self) -> None:
        """Give the descriptor back; the mapping goes with the last array that looks into it."""
        for fd in (self.fd, self.restore_fd):
            if fd >= 0:
                os.close(fd)
        self.fd = self.restore_fd = -1

    def array(self, name: str) -> Array:
        """A live view: a later launch changes it."""
        region = next(region for region in self._regions if region.name == name)
        return self._data(region).view(region.dtype.numpy).reshape(region.shape)

    def mark_touched(self) -> None:
        """Say that something was launched on it: the next reset may rely on nothing."""
        self._intact = False

    def reset(self) -> None:
        """Ready for a launch. Inputs and guards are rewritten unless the last inspection found them as they should be."""
        for region in self._regions:
            data = self._data(region)
            match region.role:
                case Role.IN if self._intact:
                    pass
                case Role.IN | Role.INOUT:
                    np.copyto(data, _as_bytes(self._pristine[region.name]))
                case Role.OUT:
                    poison(data, region.dtype)
            if not self._intact:
                for start, end in self._guards(region.name):
                    np.copyto(self._bytes[start:end], _guard_bytes(region, start, end))
        self._intact = False

    def inspect(self) -> list[Damage]:
        """What the launches since the last reset did that they must not: writes outside buffers, and to inputs."""
        found: list[Damage] = []
        for region in self._regions:
            found += self._guard_damage(region)
            if region.role is Role.IN:
                found += self._input_damage(region)
        self._intact = not found
        return found

    def _restore_file(self, size: int) -> int:
        """A file with the arena's offsets that holds `inout` values as they were, or -1 when there are none.

        From it the worker restores them between timed launches. It is sealed against writing; the rest of it is a hole.
        """
        names = [region.name for region in self._regions if region.role is Role.INOUT and region.nbytes]
        if not names:
            return -1
        fd = os.memfd_create("warpsmith-restore", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(fd, size)
        for place in self.layout:
            if place.name in names:
                with os.fdopen(os.dup(fd), "wb") as file:
                    file.seek(place.offset)
                    file.write(_as_bytes(self._pristine[place.name]).data)
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
        return fd

    def _guard_damage(self, region: Region) -> list[Damage]:
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

    def _input_damage(self, region: Region) -> list[Damage]:
        now, before = self._data(region), _as_bytes(self._pristine[region.name])
        for start in range(0, len(now), _CHUNK):
            part, original = now[start : start + _CHUNK], before[start : start + _CHUNK]
            if not np.array_equal(part, original):
                index = (start + int(np.flatnonzero(part != original)[0])) // region.dtype.itemsize
                where = tuple(int(i) for i in np.unravel_index(index, region.shape))
                return [Damage(region.name, f"an input was changed, first at {list(where)}", where)]
        return []

    def _data(self, region: Region) -> Array:
        place = self._places[region.name]
        return self._bytes[place.offset : place.offset + place.nbytes]

    def _guards(self, name: str) -> tuple[tuple[int, int], tuple[int, int]]:
        """Where both guards start and end in the arena."""
        place = self._places[name]
        end = place.offset + place.nbytes
        return (place.offset - place.guard_before, place.offset), (end, end + place.guard_after)


def _plan(regions: Sequence[Region]) -> tuple[tuple[Placement, ...], int]:
    """Data begins on a page; the guard after it begins with the very next byte, so that one element too many is seen."""
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
    """Sealed against resizing: a worker that shrank it would crash the tuner at its next access."""
    fd = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, size)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
    return fd


def _guard_bytes(region: Region, start: int, end: int) -> Array:
    """The pattern keeps its place relative to the arena, also after a buffer of odd size."""
    read_only, written = _FLOAT_WORDS.get(region.dtype, (_READ_ONLY_WORD, _WRITTEN_WORD))
    return _repeated(read_only if region.role is Role.IN else written)[start % 2 : start % 2 + end - start]


@cache
def _repeated(word: int) -> Array:
    return np.full((_MAX_GUARD + 2 * _PAGE) // 2, word, "<u2").view(np.uint8)


def _as_bytes(array: Array) -> Array:
    return np.ravel(array).view(np.uint8)


def poison(data: Array, dtype: DType) -> None:
    """Bytes that no kernel leaves by computing."""
    if dtype.is_float:
        data.fill(FLOAT_POISON)
        return
    whole = len(data) - len(data) % len(_NOISE)
    data[:whole].reshape(-1, len(_NOISE))[:] = _NOISE
    data[whole:] = _NOISE[: len(data) - whole]
