"""A watched kernel at work: chooses the blocks to watch, gives the hooks memory for what they see, and reads what they found."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Sequence
from typing import Any, Self

from warpsmith.core.hardware import Dim3, Geometry
from warpsmith.devices._clruntime.session import ClSession, address_of
from warpsmith.devices.base import Binary, RaceFound
from warpsmith.devices.cpu.program import CpuProgram
from warpsmith.devices.cpu.watch import hooks
from warpsmith.devices.cpu.watch.facts import Watch
from warpsmith.devices.cpu.watch.findings import Place, described

_STATE_WORDS = 4 + hooks.MAX_BLOCKS + 4 * hooks.MAX_RANGES
_OUT_WORDS = 1 + 5 * hooks.MAX_FINDINGS
_MAX_CELLS_BYTES = 6 << 30  # of addresses: memory is taken where watched blocks come by


class WatchedProgram:
    def __init__(self, session: ClSession, binary: Binary) -> None:
        self._program = CpuProgram(session, binary)
        self._session = session
        self._watch = Watch.unpacked(str(binary.device_data["watch"]))
        self._begin, self._end = (self._program.kernel(name) for name in (hooks.BEGIN, hooks.END))

    def launch(self, arguments: tuple[memoryview | bytes | None, ...], geometry: Geometry) -> int:
        """As CpuProgram does. Raises RaceFound where threads get in each other's way."""
        watch = self._watch
        blocks = watched_blocks(geometry.grid)
        places = [Place(name, is_shared=True) for name in watch.shared]
        ranges = [(0, watch.shared_bytes) for _ in watch.shared]  # where they are, the kernel finds out
        for name, argument in zip(watch.arguments, arguments, strict=True):
            if isinstance(argument, memoryview) and argument.nbytes and len(places) < hooks.MAX_RANGES:
                places.append(Place(name, is_shared=False))
                ranges.append((address_of(argument), argument.nbytes))
        with _Cells(watch.granule, ranges) as cells:
            state = [watch.granule, len(places), len(blocks), int(watch.fenced), *blocks, *[0] * (hooks.MAX_BLOCKS - len(blocks))]
            for (begin, nbytes), cell, place in zip(ranges, cells.addresses, places, strict=True):
                state += [begin, nbytes if cell else 0, cell, int(place.is_shared)]
            self._run(self._begin, state + [0] * (_STATE_WORDS - len(state)))
            nanoseconds = self._program.launch(arguments, geometry)
            found = self._run(self._end, [0] * _OUT_WORDS)
        problems = described(found, places, watch.lines, blocks, geometry.block)
        if problems:
            raise RaceFound(problems)
        return nanoseconds

    def set_constants(self, values: Any) -> None:
        self._program.set_constants(values)

    def _run(self, kernel: Any, words: Sequence[int]) -> list[int]:
        memory = (ctypes.c_uint64 * len(words))(*words)
        self._session.launch(kernel, (memoryview(memory).cast("B"),), (1, 1, 1), (1, 1, 1))
        return list(memory)


class _Cells:
    """Memory for the cells of every range, empty. Ranges that there are not addresses enough for have none."""

    def __init__(self, granule: int, ranges: Sequence[tuple[int, int]]) -> None:
        # At both ends a granule may stick out.
        sizes = [(nbytes // granule + 2) * hooks.CELL_BYTES for _, nbytes in ranges]
        self._maps: list[mmap.mmap] = []
        self.addresses: list[int] = []
        left = _MAX_CELLS_BYTES
        for size in sizes:
            fits = size <= left
            left -= size if fits else 0
            if fits:
                self._maps.append(mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))
            self.addresses.append(ctypes.addressof(ctypes.c_char.from_buffer(self._maps[-1])) if fits else 0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for memory in self._maps:
            memory.close()


def watched_blocks(grid: Dim3) -> list[int]:
    """Numbers of blocks at the beginning, in the middle and at the end of the grid, each with its neighbours."""
    x, y, z = grid
    count = x * y * z
    middle = (x // 2) + x * (y // 2 + y * (z // 2))
    wanted = [start + step for step in (0, 1, x, x * y, -1, -x, -x * y) for start in (0, middle, count - 1)]
    there = dict.fromkeys(number for number in wanted if 0 <= number < count)
    return sorted(list(there)[: hooks.MAX_BLOCKS])
