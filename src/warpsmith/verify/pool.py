"""Fresh inputs for every timed launch, at the cost of a copy.

A kernel that is launched repeatedly on the same inputs could cache its result and look fast. So the contents of a workload's
buffers follow from a *draw*, a number that is new for each pair of launches: they are assembled from random pieces of a pool
that caches hold, with signs and lower digits flipped at random places. Both keep the distribution that `init` asks for. A
permutation is drawn as a window, which rotates it. The output of a user's function (a list of offsets, a page table) has an
unknown structure: complete alternatives of it, and of its inputs, are drawn instead.

The pool lies in a sealed file. The tuner makes it; the worker fills buffers from it between launches, and the tuner can
reproduce a buffer's initial contents for any draw. Draw 0 is what verification uses: the first window, unchanged.
"""

from __future__ import annotations

import fcntl
import mmap
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from warpsmith.core.arrays import Array
from warpsmith.devices.memory import PIECE_BYTES, STEP, Contents, mixed

FIRST = 0
"""The draw that workloads are prepared and verified with."""
_MOST_DRAWS = 1 << 62

SPAN_BYTES = 1 << 19
"""Minimum size of the pool for a buffer of independently drawn values."""
_MASK_BYTES = 1 << 19
_ALIGNED = 4096


@dataclass(frozen=True, slots=True)
class Material:
    """Source of a buffer's contents: windows of `values`, `step` bytes apart.

    With a `span`, pieces come from that many bytes at its beginning instead. `flips` has the bits of one element that may be
    flipped, 0 for none. Buffers of the same `group` are drawn together.
    """

    values: Array
    nbytes: int
    step: int = STEP
    windows: int = 1
    span: int = 0
    flips: int = 0
    group: str = ""


@dataclass(frozen=True, slots=True)
class Recipe:
    """Position of a buffer's material in the pool; sent to the worker. `mask` is -1 where no bits are flipped."""

    name: str
    begin: int
    nbytes: int
    step: int
    windows: int
    span: int
    mask: int
    group: str

    @property
    def varies(self) -> bool:
        return self.windows > 1 or self.span > 0

    def contents(self, draw: int) -> Contents:
        if draw == FIRST:
            return Contents(self.begin)
        if not self.span:
            return Contents(self.begin + _mixed(draw, self.group) % self.windows * self.step)
        of_values = (_places(self.span), _mixed(draw, self.name))
        of_mask = (self.mask, _places(_MASK_BYTES), _mixed(draw, f"flips of {self.name}")) if self.mask >= 0 else ()
        return Contents(self.begin, *of_values, *of_mask)


class InputPool:
    """Material of one workload's buffers, in a sealed file that several arenas may share."""

    def __init__(self, fd: int, recipes: Mapping[str, Recipe], rng: np.random.Generator) -> None:
        self.fd = fd
        self.recipes = recipes
        self._rng = rng
        self._bytes = mapped(fd) if is_sealed(fd) else np.frombuffer(mmap.mmap(fd, os.fstat(fd).st_size), np.uint8)

    @classmethod
    def of(cls, materials: Mapping[str, Material], rng: np.random.Generator, *, sealed: bool = True) -> InputPool:
        recipes, size = _planned(materials)
        fd = os.memfd_create("warpsmith-inputs", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(fd, size)
        for name, recipe in recipes.items():
            material = materials[name]
            _write(fd, np.ravel(material.values).view(np.uint8), recipe.begin)
            if recipe.mask >= 0:
                _write(fd, _mask(material, rng), recipe.mask)
        unless_changed = fcntl.F_SEAL_WRITE if sealed else 0
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, unless_changed | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
        return cls(fd, recipes, rng)

    @classmethod
    def unvaried(cls, values: Mapping[str, Array], *, sealed: bool = True) -> InputPool:
        """A pool that gives every launch the same inputs. Unless sealed, what `first` returns may be written, and later
        launches get that.
        """
        kept = {name: np.ascontiguousarray(array) for name, array in values.items()}
        materials = {name: Material(array, array.nbytes) for name, array in kept.items()}
        return cls.of(materials, np.random.default_rng(0), sealed=sealed)

    def shared(self) -> InputPool:
        """The same file for another owner, who closes it separately and has its own draws."""
        return InputPool(os.dup(self.fd), self.recipes, self._rng.spawn(1)[0])

    @classmethod
    def copied(cls, content: Array, recipes: Mapping[str, Recipe], rng: np.random.Generator) -> InputPool:
        """A pool with the `content` of another, from another process or machine."""
        fd = os.memfd_create("warpsmith-inputs", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(fd, content.nbytes)
        _write(fd, content, 0)
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
        return cls(fd, recipes, rng)

    @property
    def content(self) -> Array:
        return self._bytes

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
        self.fd = -1

    def fresh_draw(self) -> int:
        return int(self._rng.integers(FIRST + 1, _MOST_DRAWS))

    def first(self, name: str) -> Array:
        """The bytes of a buffer for draw FIRST, without a copy."""
        recipe = self.recipes[name]
        return self._bytes[recipe.begin : recipe.begin + recipe.nbytes]

    def fill(self, name: str, draw: int, into: Array) -> None:
        fill(into, self._bytes, self.recipes[name].contents(draw))

    def first_difference(self, name: str, draw: int, got: Array) -> int | None:
        """First byte at which a buffer differs from the draw's contents."""
        contents = self.recipes[name].contents(draw)
        drawn = np.empty(PIECE_BYTES, np.uint8)
        for start in range(0, len(got), PIECE_BYTES):
            part = got[start : start + PIECE_BYTES]
            expected = self._bytes[contents.piece(start) :][: len(part)]
            if contents.mask_places:
                expected = drawn[: len(part)]
                _fill_piece(expected, self._bytes, contents, start)
            if not np.array_equal(part, expected):
                return start + int(np.flatnonzero(part != expected)[0])
        return None


def mapped(fd: int) -> Array:
    """A pool's bytes, mapped private and read-only: a stray write crashes instead of changing the pool."""
    size = os.fstat(fd).st_size
    return np.frombuffer(mmap.mmap(fd, size, mmap.MAP_PRIVATE, mmap.PROT_READ), np.uint8)


def is_sealed(fd: int) -> bool:
    return bool(fcntl.fcntl(fd, fcntl.F_GET_SEALS) & fcntl.F_SEAL_WRITE)


def fill(target: Array, source: Array, contents: Contents) -> None:
    """Fill a buffer (its bytes, aligned to eight)."""
    for start in range(0, len(target), PIECE_BYTES):
        _fill_piece(target[start : start + PIECE_BYTES], source, contents, start)


def _fill_piece(target: Array, source: Array, contents: Contents, start: int) -> None:
    values = source[contents.piece(start) :][: len(target)]
    at = contents.mask_of(start)
    if at is None:
        np.copyto(target, values)
        return
    mask = source[at : at + len(target)]
    whole = len(target) // 8 * 8
    np.bitwise_xor(values[:whole].view(np.uint64), mask[:whole].view(np.uint64), out=target[:whole].view(np.uint64))
    np.bitwise_xor(values[whole:], mask[whole:], out=target[whole:])


def _places(room: int) -> int:
    """Possible start positions of a piece in this much room."""
    return (room - PIECE_BYTES) // STEP + 1


def _mixed(draw: int, name: str) -> int:
    """64 well-mixed bits of a draw for a name: equal in the tuner and in the worker."""
    bits = draw
    for byte in name.encode():
        bits = (bits * 1099511628211 ^ byte) & 0xFFFFFFFFFFFFFFFF
    return mixed(bits)


def alternatives(values: Sequence[Array], group: str) -> Material:
    """Complete alternatives to choose from."""
    nbytes = values[0].nbytes
    step = -(-max(nbytes, 1) // STEP) * STEP
    joined = np.zeros(step * len(values), np.uint8)
    for number, array in enumerate(values):
        joined[number * step : number * step + nbytes] = np.ravel(array).view(np.uint8)
    return Material(joined, nbytes, step, len(values), group=group)


def _planned(materials: Mapping[str, Material]) -> tuple[dict[str, Recipe], int]:
    recipes: dict[str, Recipe] = {}
    offset = 0
    for name, material in materials.items():
        mask = -1
        begin, offset = offset, _aligned(offset + material.values.nbytes)
        if material.flips:
            mask, offset = offset, _aligned(offset + _MASK_BYTES)
        group = material.group or name
        recipes[name] = Recipe(name, begin, material.nbytes, material.step, material.windows, material.span, mask, group)
    return recipes, max(offset, _ALIGNED)


def _mask(material: Material, rng: np.random.Generator) -> Array:
    size = material.values.dtype.itemsize
    allowed = np.frombuffer(material.flips.to_bytes(size, "little") * (_MASK_BYTES // size), np.uint8)
    return np.frombuffer(rng.bytes(_MASK_BYTES), np.uint8) & allowed


def _aligned(offset: int) -> int:
    return -(-offset // _ALIGNED) * _ALIGNED


def _write(fd: int, data: Array, offset: int) -> None:
    view = memoryview(data.data)
    while view:
        written = os.pwrite(fd, view, offset)
        view, offset = view[written:], offset + written
