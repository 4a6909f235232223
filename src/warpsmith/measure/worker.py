"""The measuring worker: `python -m warpsmith.measure.worker`, the only process that launches kernels.

It maps memory that the tuner made, launches, and reads the device's clock. It has no expected results.
"""

from __future__ import annotations

import gc
import mmap
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, cast

import numpy as np

from warpsmith.core.arrays import Array
from warpsmith.core.dtype import DType
from warpsmith.core.hardware import Geometry, NotCounted
from warpsmith.core.outcome import LaunchFailed
from warpsmith.devices.base import (
    HasCounters,
    HasOwnMemory,
    HasReadings,
    LaunchError,
    Program,
    Resets,
    Session,
    Unloads,
)
from warpsmith.devices.memory import Filling, FillsPastCaches, KeepsBuffers, LaunchesKept
from warpsmith.devices.registry import load_device
from warpsmith.isolation.serving import serve
from warpsmith.measure.jobs import Attach, Count, LaunchArgument, LaunchJob, Load, Open, Prepare, Read, Time, Unload
from warpsmith.verify.arena import POISONED, poison, poison_for
from warpsmith.verify.pool import FIRST, Recipe, fill, is_sealed, mapped

Blobs: TypeAlias = tuple[bytes, ...]
Fds: TypeAlias = tuple[int, ...]
Answer: TypeAlias = tuple[Any, Sequence[bytes]]

_DONE: Answer = (None, ())


_CACHED_BYTES = 8 << 20  # more than this of inputs would not be found in a core's caches anyway


@dataclass(slots=True)
class _Memory:
    views: Mapping[str, memoryview]
    pool: Array
    inputs: tuple[tuple[Array, Recipe], ...]
    outputs: tuple[tuple[Array, DType], ...]
    constants: Mapping[str, bytes]
    restored: frozenset[str] = frozenset()
    filled: int | None = None
    """The draw of the current inputs, where the host fills them."""
    is_kept: bool = True
    """Whether a device with memory of its own may keep the pool there."""
    exceeds_caches: bool = False

    def make_ready(self, draw: int, session: object) -> None:
        """Prepare a timed launch: its own inputs, and no results of the previous launch.

        Inputs that fit in caches are written even where the previous launch had the same ones: otherwise one of a pair would
        find them in a nearer cache.
        """
        if self.exceeds_caches and isinstance(session, FillsPastCaches):
            due = [filling for filling in self.fillings(draw) if filling.is_changed or draw != self.filled]
            if session.fill_past_caches(due):
                self.filled = draw
                return
        is_there = draw == self.filled and sum(data.nbytes for data, _ in self.inputs) > _CACHED_BYTES
        for data, recipe in self.inputs:
            if not is_there or recipe.name in self.restored:
                fill(data, self.pool, recipe.contents(draw))
        self.filled = draw
        for output, dtype in self.outputs:
            poison(output, dtype)

    def fillings(self, draw: int) -> list[Filling]:
        """The same on a device that fills its buffers itself."""
        return [
            *(Filling(data.data, self.pool, r.contents(draw), r.name in self.restored) for data, r in self.inputs if data.size),
            *(Filling(data.data, poison_for(dtype), POISONED, True) for data, dtype in self.outputs if data.size),
        ]


@dataclass(frozen=True, slots=True)
class _Run:
    program: str
    workload: str
    arguments: tuple[memoryview | bytes | None, ...]
    geometry: Geometry


class _Worker:
    def __init__(self) -> None:
        self._session: Session | None = None
        self._programs: dict[str, Program] = {}
        self._constants_of: dict[str, str] = {}
        """The workload whose constants a program currently has."""
        self._memories: dict[str, _Memory] = {}
        self._runs: dict[int, _Run] = {}
        self._refused: set[int] = set()

    def open(self, job: Open, blobs: Blobs, _fds: Fds) -> Answer:
        session = self._session = load_device(job.device).open(job.compute_units)
        if job.filler is not None and isinstance(session, KeepsBuffers | FillsPastCaches):
            session.fill_with(replace(job.filler, code=blobs[0]))
        return _DONE

    def load(self, job: Load, blobs: Blobs, _fds: Fds) -> Answer:
        assert self._session is not None
        try:
            self._programs[job.program] = self._session.load(replace(job.binary, code=blobs[0]))
        except LaunchError as error:
            return LaunchFailed(str(error)), ()
        return _DONE

    def unload(self, job: Unload, _blobs: Blobs, _fds: Fds) -> Answer:
        program: object = self._programs.pop(job.program)
        if isinstance(program, Unloads):
            program.close()
        self._constants_of.pop(job.program, None)
        self._runs = {number: run for number, run in self._runs.items() if run.program != job.program}
        return _DONE

    def attach(self, job: Attach, blobs: Blobs, fds: Fds) -> Answer:
        arena = memoryview(mmap.mmap(fds[0], os.fstat(fds[0]).st_size))
        views = {place.name: arena[place.offset : place.offset + place.view_bytes] for place in job.layout}
        session: object = self._session
        if isinstance(session, HasOwnMemory):
            for place in job.layout:
                guarded = arena[place.offset - place.guard_before : place.offset + place.nbytes + place.guard_after]
                if guarded.nbytes > place.view_bytes:
                    session.surround(views[place.name], guarded)
        data = {place.name: slice(place.offset, place.offset + place.nbytes) for place in job.layout}
        inputs = tuple((np.frombuffer(arena[data[recipe.name]], np.uint8), recipe) for recipe in job.filled)
        pool, is_kept = mapped(fds[1]), is_sealed(fds[1])
        outputs = tuple((np.frombuffer(arena[data[name]], np.uint8), dtype) for name, dtype in job.poisoned)
        for fd in fds:
            os.close(fd)
        constants = dict(zip(job.constants, blobs, strict=True))
        self._memories[job.workload] = _Memory(
            views,
            pool,
            inputs,
            outputs,
            constants,
            frozenset(job.restored),
            is_kept=is_kept,
            exceeds_caches=job.exceeds_caches,
        )
        return _DONE

    def prepare(self, job: Prepare, _blobs: Blobs, _fds: Fds) -> Answer:
        views = self._memories[job.workload].views
        arguments = tuple(_argument(argument, views) for argument in job.arguments)
        self._runs[job.run] = _Run(job.program, job.workload, arguments, job.geometry)
        return _DONE

    def launch(self, job: LaunchJob, _blobs: Blobs, _fds: Fds) -> Answer:
        run = self._runs[job.run]
        self._memories[run.workload].filled = None
        try:
            program = self._set_back(run)
            return max(1, program.launch(run.arguments, run.geometry)), ()
        except LaunchError as error:
            return LaunchFailed(str(error)), ()

    def time(self, job: Time, _blobs: Blobs, _fds: Fds) -> Answer:
        nanoseconds: list[int] = []
        session: object = self._session
        try:
            kept = self._memories[self._runs[job.runs[-1]].workload].views.values() if job.runs else ()
            if job.rewritten and isinstance(session, KeepsBuffers):
                session.outdate(kept)
            for number, draw in zip(job.runs, job.draws, strict=True):
                self._scrub(job.scrub)
                nanoseconds.append(self._launch(number, draw))
            if job.looked_at and isinstance(session, KeepsBuffers):
                session.fetch(kept)
        except LaunchError as error:
            return LaunchFailed(str(error)), ()
        return nanoseconds, ()

    def count(self, job: Count, _blobs: Blobs, _fds: Fds) -> Answer:
        run = self._runs[job.run]
        program = self._programs[run.program]
        if not isinstance(program, HasCounters):
            return NotCounted("this device has no counters"), ()
        try:
            self._fill_constants(run)
            return program.counters(run.arguments, run.geometry), ()
        except LaunchError as error:
            return LaunchFailed(str(error)), ()

    def read(self, _job: Read, _blobs: Blobs, _fds: Fds) -> Answer:
        return (self._session.reading() if isinstance(self._session, HasReadings) else None), ()

    def _scrub(self, runs: Sequence[int]) -> None:
        """A scrubber that the device refuses is not launched again; the candidate is not at fault."""
        for number in runs:
            if number not in self._refused:
                try:
                    self._launch(number, FIRST, is_timed=False)
                except LaunchError:
                    self._refused.add(number)

    def _launch(self, number: int, draw: int, *, is_timed: bool = True) -> int:
        """On inputs of its own."""
        run, session = self._runs[number], cast("object", self._session)
        memory = self._memories[run.workload]
        if isinstance(session, KeepsBuffers):
            buffers = memory.views.values()
            memory.is_kept = memory.is_kept and session.fill(buffers, memory.fillings(draw))
            if not memory.is_kept:
                memory.make_ready(draw, session)
                session.outdate(buffers)
        elif is_timed:
            memory.make_ready(draw, session)
        program: object = self._set_back(run)
        if isinstance(program, LaunchesKept):
            taken_ns = program.launch_kept(run.arguments, run.geometry, is_timed=is_timed)
        else:
            taken_ns = self._programs[run.program].launch(run.arguments, run.geometry)
        # Clocks tick, some only every microsecond: a launch between two ticks must not count as zero time.
        return max(1, taken_ns)

    def _set_back(self, run: _Run) -> Program:
        """The run's program, without state of earlier launches."""
        loaded = self._programs[run.program]
        program: object = loaded
        if isinstance(program, Resets) and program.reset():
            self._constants_of.pop(run.program, None)
        self._fill_constants(run)
        return loaded

    def _fill_constants(self, run: _Run) -> None:
        constants = self._memories[run.workload].constants
        if constants and self._constants_of.get(run.program) != run.workload:
            self._programs[run.program].set_constants(constants)
            self._constants_of[run.program] = run.workload


def _argument(argument: LaunchArgument, views: Mapping[str, memoryview]) -> memoryview | bytes | None:
    if argument.buffer is not None:
        return views[argument.buffer]
    return bytes.fromhex(argument.scalar) if argument.scalar is not None else None


if __name__ == "__main__":
    gc.disable()  # nothing here makes cycles, and a collection in the middle of a series would be noise
    worker = _Worker()
    serve(
        {
            Open: worker.open,
            Load: worker.load,
            Unload: worker.unload,
            Attach: worker.attach,
            Prepare: worker.prepare,
            LaunchJob: worker.launch,
            Count: worker.count,
            Time: worker.time,
            Read: worker.read,
        }
    )
