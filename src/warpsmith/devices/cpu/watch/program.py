"""Runs a watched kernel: chooses the blocks to watch, allocates memory for the hooks, and reads their findings."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from warpsmith.core.hardware import Dim3, Geometry
from warpsmith.devices._clruntime.session import ClSession, address_of
from warpsmith.devices.base import INITCHECK, MEMCHECK, RACECHECK, Binary, ChecksFailed, LaunchError
from warpsmith.devices.cpu.program import CpuProgram
from warpsmith.devices.cpu.shared_memory import DYNAMIC_SHARED, LOCAL_PARAMETER
from warpsmith.devices.cpu.watch import hooks
from warpsmith.devices.cpu.watch.facts import Watch
from warpsmith.devices.cpu.watch.findings import Place, races, strays
from warpsmith.devices.cpu.watch.uninitialised import Fill, Uninitialised

_STATE_WORDS = hooks.BLOCKS_AT + hooks.MAX_BLOCKS + 4 * hooks.MAX_RANGES
_OUT_WORDS = 2 + 2 * 5 * hooks.MAX_FINDINGS
_MAX_CELLS_BYTES = 6 << 30  # of addresses: memory is taken where watched blocks come by
_BRIEF_NS = 300_000_000
_UNLIMITED = (1 << 64) - 1

Arguments = tuple[memoryview | bytes | None, ...]


@dataclass(frozen=True, slots=True)
class _Range:
    """An address range that accesses are checked against. The kernel fills in those of shared memory variables."""

    place: Place
    begin: int = 0
    nbytes: int = 0
    cell_bytes: int = 0  # how much of it is watched for races at most


class WatchedProgram:
    def __init__(self, session: ClSession, binary: Binary) -> None:
        self._session = session
        self._binary = binary
        self._watch = Watch.unpacked(str(binary.device_data["watch"]))
        self._constants: Any = {}
        self._is_used = False
        self._program = self._loaded()

    def launch(self, arguments: Arguments, geometry: Geometry) -> int:
        """As CpuProgram's, several times. Raises ChecksFailed with the findings."""
        watch = self._watch
        blocks = watched_blocks(geometry.grid)
        ranges = self._ranges(arguments, geometry)
        places = [r.place for r in ranges]
        uninitialised = Uninitialised(watch, arguments)
        if watch.keeps_state and self._is_used:
            self._program = self._loaded()
        self._is_used = True
        with _Cells(watch.granule, [r.cell_bytes for r in ranges]) as cells:
            uninitialised.prepare(Fill.first())
            nanoseconds, found = self._watched(arguments, geometry, _state(watch, blocks, ranges, cells.addresses, Fill.first()))
        problems = {
            MEMCHECK: strays(found[1], places, watch, blocks, geometry.block),
            RACECHECK: races(found[0], places, watch.lines, blocks, geometry.block),
        }

        def again(fill: Fill) -> list[str]:
            """Findings with other initial contents, as from `strays`."""
            if watch.keeps_state:
                self._program = self._loaded()
            try:
                _, found = self._watched(arguments, geometry, _state(watch, blocks, ranges, [0] * len(ranges), fill))
            except LaunchError as error:
                return [str(error)]
            return strays(found[1], places, watch, blocks, geometry.block)

        problems[INITCHECK] = uninitialised.found(again, known=problems[MEMCHECK], thorough=nanoseconds < _BRIEF_NS)
        if any(problems.values()):
            raise ChecksFailed(problems)
        return nanoseconds

    def set_constants(self, values: Any) -> None:
        self._constants = values
        self._program.set_constants(values)

    def _loaded(self) -> CpuProgram:
        """With the device's variables at their initial values."""
        program = CpuProgram(self._session, self._binary)
        self._begin, self._end = (program.kernel(name) for name in (hooks.BEGIN, hooks.END))
        program.set_constants(self._constants)
        return program

    def _ranges(self, arguments: Arguments, geometry: Geometry) -> list[_Range]:
        """By the kernel's numbers for them."""
        watch = self._watch
        sized = [name for name in watch.shared if name == DYNAMIC_SHARED or name.startswith(LOCAL_PARAMETER)]
        # How several share the launch's memory is known only to the host.
        exact = dict.fromkeys(sized, geometry.shared_bytes) if len(sized) == 1 else {}
        found = [
            _Range(Place(name, is_shared=True), nbytes=exact.get(name, _UNLIMITED), cell_bytes=watch.shared_bytes)
            for name in watch.shared
        ]
        found += [_Range(Place("", is_shared=True))] * (hooks.MAX_SHARED - len(found))
        for name, argument in list(zip(watch.arguments, arguments, strict=True))[: hooks.MAX_RANGES - hooks.MAX_SHARED]:
            if isinstance(argument, memoryview) and argument.nbytes:
                size = argument.nbytes
                found.append(_Range(Place(name, is_shared=False, nbytes=size), address_of(argument), size, size))
            else:
                found.append(_Range(Place(name, is_shared=False)))
        return found

    def _watched(self, arguments: Arguments, geometry: Geometry, state: list[int]) -> tuple[int, tuple[list[int], list[int]]]:
        """Nanoseconds, and the hooks' findings: races, and strays."""
        self._run(self._begin, state)
        nanoseconds = self._program.launch(arguments, geometry)
        words = self._run(self._end, [0] * _OUT_WORDS)
        middle = 2 + 5 * hooks.MAX_FINDINGS
        return nanoseconds, ([words[0], *words[2:middle]], [words[1], *words[middle:]])

    def _run(self, kernel: Any, words: Sequence[int]) -> list[int]:
        memory = (ctypes.c_uint64 * len(words))(*words)
        self._session.launch(kernel, (memoryview(memory).cast("B"),), (1, 1, 1), (1, 1, 1))
        return list(memory)


def _state(watch: Watch, blocks: Sequence[int], ranges: Sequence[_Range], cells: Sequence[int], fill: Fill) -> list[int]:
    """As laid out in the header. Without cells, races are not checked."""
    buffers = range(min(len(watch.arguments), hooks.MAX_RANGES - hooks.MAX_SHARED))
    inputs = sum(1 << hooks.MAX_SHARED + i for i in buffers if i not in watch.written)
    state = [watch.granule, len(ranges), len(blocks), int(watch.is_ordering and any(cells)), inputs, *fill.words]
    state += [*blocks, *[0] * (hooks.MAX_BLOCKS - len(blocks))]
    for each, cell in zip(ranges, cells, strict=True):
        state += [each.begin, each.nbytes, cell, each.cell_bytes]
    return state + [0] * (_STATE_WORDS - len(state))


class _Cells:
    """Empty shadow cells of every range. A range that is too large for the address space has none."""

    def __init__(self, granule: int, sizes: Sequence[int]) -> None:
        self._maps: list[mmap.mmap] = []
        self.addresses: list[int] = []
        left = _MAX_CELLS_BYTES
        for nbytes in sizes:
            size = (nbytes // granule + 2) * hooks.CELL_BYTES  # at both ends a granule may stick out
            fits = nbytes > 0 and size <= left
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
    """Blocks at the beginning, in the middle and at the end of the grid, each with its neighbours."""
    x, y, z = grid
    count = x * y * z
    middle = (x // 2) + x * (y // 2 + y * (z // 2))
    wanted = [start + step for step in (0, 1, x, x * y, -1, -x, -x * y) for start in (0, middle, count - 1)]
    there = dict.fromkeys(number for number in wanted if 0 <= number < count)
    return sorted(list(there)[: hooks.MAX_BLOCKS])
