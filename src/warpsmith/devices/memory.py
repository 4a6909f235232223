"""Interfaces of devices that fill buffers for a measuring worker: in their own memory, or bypassing the host's caches.

A buffer's initial contents are described by numbers (`Contents`), from which host and device make the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from warpsmith.core.arrays import Array
from warpsmith.core.hardware import Geometry
from warpsmith.devices.base import Binary

PIECE_BYTES = 1 << 17
"""Small enough for a core's caches to hold the source of a buffer's contents."""
STEP = 64
"""Pieces come from multiples of it: a cache line, so that copies are as fast as the buffer's own alignment allows."""

_BITS = 0xFFFFFFFFFFFFFFFF


@dataclass(frozen=True, slots=True)
class Contents:
    """A buffer's initial contents, from the bytes of a source. `measure/probes/fill/fill.cu` does the same in CUDA C++.

    With `places`, each piece comes from one of that many places after `begin`, chosen by the seed; with none, pieces are
    consecutive. With `mask_places`, it is XORed with bytes from one of those after `mask`.
    """

    begin: int
    places: int = 0
    seed: int = 0
    mask: int = 0
    mask_places: int = 0
    mask_seed: int = 0

    def piece(self, start: int) -> int:
        """Source position of the piece that is `start` bytes into the buffer."""
        return self.begin + (mixed(self.seed + start) % self.places * STEP if self.places else start)

    def mask_of(self, start: int) -> int | None:
        return self.mask + mixed(self.mask_seed + start) % self.mask_places * STEP if self.mask_places else None

    @property
    def numbers(self) -> tuple[int, ...]:
        """As the kernel's parameters."""
        return (self.begin, self.places, self.seed, self.mask, self.mask_places, self.mask_seed)


def mixed(bits: int) -> int:
    """64 well-mixed bits (splitmix64)."""
    bits = bits + 0x9E3779B97F4A7C15 & _BITS
    bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9 & _BITS
    bits = (bits ^ bits >> 27) * 0x94D049BB133111EB & _BITS
    return bits ^ bits >> 31


@dataclass(frozen=True, slots=True)
class Filling:
    """A buffer and its initial contents. One that `is_changed` by launches is filled before each of them."""

    buffer: memoryview
    source: Array
    contents: Contents
    is_changed: bool


@runtime_checkable
class KeepsBuffers(Protocol):
    """A session that keeps copies of buffers in the device's memory. Its programs are `LaunchesKept`."""

    def fill_with(self, filler: Binary) -> None:
        """The kernel that fills buffers, compiled for the device."""
        ...

    def fill(self, buffers: Iterable[memoryview], fillings: Sequence[Filling]) -> bool:
        """Fill on the device, for a launch on these buffers. False if impossible: no filler, or not enough memory."""
        ...

    def outdate(self, buffers: Iterable[memoryview]) -> None:
        """The host wrote to them: the next launch must copy them to the device."""
        ...

    def fetch(self, buffers: Iterable[memoryview]) -> None:
        """Copy them back."""
        ...


@runtime_checkable
class FillsPastCaches(Protocol):
    """A session that launches on the host's own memory."""

    def fill_with(self, filler: Binary) -> None: ...

    def fill_past_caches(self, fillings: Sequence[Filling]) -> bool:
        """Leaves nothing in the caches that would have to be written back. False without a filler."""
        ...


@runtime_checkable
class LaunchesKept(Protocol):
    """A program that launches on buffers in the device's memory."""

    def launch_kept(self, arguments: tuple[memoryview | bytes | None, ...], geometry: Geometry, *, is_timed: bool = True) -> int:
        """As `launch`, but only copies what the device does not have, and copies nothing back.

        An untimed launch is not waited for: the next launch is ordered after it.
        """
        ...
