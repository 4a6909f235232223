"""Memory of a launch: buffer positions, contents as far as anything depends on them, and touched sectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from warpsmith.core.errors import UnsupportedFeature
from warpsmith.devices.cuda.execution.patterns import SECTOR, Places
from warpsmith.devices.cuda.execution.state import Mask, Words

_BASE = 0x7_0000_0000  # so that the upper half of an address stays the same in all buffers
_GAP = 4096
_MOST_BYTES = (1 << 32) - (1 << 24)
_NEVER = -(1 << 40)

Contents = Callable[[str], bytes]
"""A buffer's contents before the launch, by name. Raises UnsupportedFeature if they are unknown."""


@dataclass(frozen=True, slots=True)
class Placed:
    name: str
    first: int
    nbytes: int


class GlobalMemory:
    """Buffers one after another. Their contents are requested only if something depends on them."""

    def __init__(self, sizes: Mapping[str, int], contents: Contents) -> None:
        self.buffers: dict[str, Placed] = {}
        place = _BASE + (1 << 24)
        for name, nbytes in sizes.items():
            self.buffers[name] = Placed(name, place, nbytes)
            place += -(-nbytes // _GAP) * _GAP + _GAP
        self._begin, self._end = _BASE + (1 << 24), place
        if place - _BASE > _MOST_BYTES:
            raise UnsupportedFeature(f"the buffers have {(place - _BASE) / 1e9:.1f} GB; up to 4 GB are followed")
        self._contents = contents
        self._held: dict[str, NDArray[np.uint8]] = {}
        self._written: set[str] = set()
        self.filled = 0
        self._last = np.full((place - self._begin) // SECTOR + 1, _NEVER, np.int64)

    def forget(self) -> None:
        """Forget touched sectors: the next block finds cold caches."""
        self._last.fill(_NEVER)
        self.filled = 0

    def require_inside(self, addresses: Places, mask: Mask, width: int, text: str) -> None:
        inside = (addresses >= self._begin) & (addresses + width <= self._end)
        if not bool((inside | ~mask).all()):
            wrong = int(addresses[mask & ~inside][0])
            raise UnsupportedFeature(f"an access outside of all buffers, at {wrong:#x} ({text})")

    def touch(self, first: int, distinct: Places, within: float) -> tuple[int, int]:
        """How many of these sectors miss in a cache of that size, and how many were never touched before."""
        places = distinct + (first - self._begin // SECTOR)
        last = self._last[places]
        missed = self.filled - last > within
        count = int(np.count_nonzero(missed))
        self.filled += count
        self._last[places] = self.filled
        return count, int(np.count_nonzero(last == _NEVER))

    @property
    def is_asked(self) -> bool:
        """Whether something depends on the buffer's contents."""
        return bool(self._held)

    def touched(self) -> NDArray[np.bool_]:
        touched: NDArray[np.bool_] = self._last != _NEVER
        return touched

    def load(self, addresses: Places, mask: Mask, width: int) -> list[Words]:
        """The words of each thread, unsigned."""
        result = np.zeros((len(addresses), max(4, width)), np.uint8)
        for buffer in self.buffers.values():
            here = mask & (addresses >= buffer.first) & (addresses < buffer.first + buffer.nbytes)
            if here.any():
                data = self._data(buffer)
                places = (addresses[here] - buffer.first)[:, None] + np.arange(width)
                result[here, :width] = data[np.minimum(places, buffer.nbytes - 1)]
        return [np.ascontiguousarray(words) for words in result.view(np.uint32).T]

    def written(self, addresses: Places, mask: Mask) -> None:
        """Records which buffer a store goes to; the values are not needed."""
        place = int(addresses[mask.argmax()])
        name = next((b.name for b in self.buffers.values() if b.first <= place < b.first + b.nbytes), "")
        self._written.add(name)
        self._require_unwritten(name)

    def _require_unwritten(self, name: str) -> None:
        if name in self._written and name in self._held:
            raise UnsupportedFeature(f"an address or a branch depends on {name}, which the kernel itself writes")

    def _data(self, buffer: Placed) -> NDArray[np.uint8]:
        if buffer.name not in self._held:
            self._held[buffer.name] = np.frombuffer(self._contents(buffer.name), np.uint8)
            self._require_unwritten(buffer.name)
        return self._held[buffer.name]


class OwnMemory:
    """Shared memory of a block, or the local memory of its threads (a row each)."""

    def __init__(self, rows: int, nbytes: int) -> None:
        self._data = np.zeros((rows, -(-max(nbytes, 16) // 16) * 16), np.uint8)

    def load(self, addresses: Places, mask: Mask, width: int) -> list[Words]:
        result = np.zeros((len(addresses), max(4, width)), np.uint8)
        result[:, :width] = self._data[self._rows(addresses), self._places(addresses, mask, width)]
        return [np.ascontiguousarray(words) for words in result.view(np.uint32).T]

    def store(self, addresses: Places, mask: Mask, width: int, words: list[Words]) -> None:
        data = np.stack([np.broadcast_to(word, addresses.shape) for word in words], axis=1).view(np.uint8)
        rows = np.broadcast_to(self._rows(addresses), (len(addresses), width))
        self._data[rows[mask], self._places(addresses, mask, width)[mask]] = data[mask, :width]

    def _rows(self, addresses: Places) -> Places:
        shared = len(self._data) == 1
        return np.zeros((len(addresses), 1), np.int64) if shared else np.arange(len(addresses))[:, None]

    def _places(self, addresses: Places, mask: Mask, width: int) -> Places:
        if bool(((addresses < 0) | (addresses + width > self._data.shape[1]))[mask].any()):
            raise UnsupportedFeature("an access outside of a block's shared or a thread's local memory")
        return np.where(mask, addresses, 0)[:, None] + np.arange(width)
