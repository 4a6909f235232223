"""The measuring worker: `python -m warpsmith.measure.worker`, the only place where a kernel is ever launched.

It maps memory that the tuner made, launches and reads the device's clock. It knows nothing of right and wrong results.
"""

from __future__ import annotations

import gc
import mmap
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from warpsmith.core.arrays import Array
from warpsmith.core.dtype import DType
from warpsmith.core.hardware import Geometry, NotCounted
from warpsmith.core.outcome import LaunchFailed
from warpsmith.devices.base import HasCounters, HasOwnMemory, HasReadings, LaunchError, Program, Session, Unloads
from warpsmith.devices.registry import load_device
from warpsmith.isolation.serving import serve
from warpsmith.measure.jobs import Argument, Attach, Count, Launch, Load, Open, Prepare, Read, Time, Unload
from warpsmith.verify.arena import poison

Blobs: TypeAlias = tuple[bytes, ...]
Fds: TypeAlias = tuple[int, ...]
Answer: TypeAlias = tuple[Any, Sequence[bytes]]

_DONE: Answer = (None, ())


@dataclass(frozen=True, slots=True)
class _Memory:
    views: Mapping[str, memoryview]
    restores: tuple[tuple[memoryview, memoryview], ...]
    outputs: tuple[tuple[Array, DType], ...]
    constants: Mapping[str, bytes]

    def make_ready(self) -> None:
        """For a timed launch: nothing is left of what the one before computed."""
        for data, original in self.restores:
            data[:] = original
        for output, dtype in self.outputs:
            poison(output, dtype)


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
        """The workload whose constants a program has now."""
        self._memories: dict[str, _Memory] = {}
        self._runs: dict[int, _Run] = {}

    def open(self, job: Open, _blobs: Blobs, _fds: Fds) -> Answer:
        self._session = load_device(job.device).open(job.compute_units)
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
        restores: list[tuple[memoryview, memoryview]] = []
        if job.restored:
            # Private and read-only: a kernel that strays there crashes instead of changing what is restored.
            original = memoryview(mmap.mmap(fds[1], os.fstat(fds[1]).st_size, mmap.MAP_PRIVATE, mmap.PROT_READ))
            restores += [(arena[data[name]], original[data[name]]) for name in job.restored]
        outputs = tuple((np.frombuffer(arena[data[name]], np.uint8), dtype) for name, dtype in job.poisoned)
        for fd in fds:
            os.close(fd)
        constants = dict(zip(job.constants, blobs, strict=True))
        self._memories[job.workload] = _Memory(views, tuple(restores), outputs, constants)
        return _DONE

    def prepare(self, job: Prepare, _blobs: Blobs, _fds: Fds) -> Answer:
        views = self._memories[job.workload].views
        arguments = tuple(_argument(argument, views) for argument in job.arguments)
        self._runs[job.run] = _Run(job.program, job.workload, arguments, job.geometry)
        return _DONE

    def launch(self, job: Launch, _blobs: Blobs, _fds: Fds) -> Answer:
        try:
            return self._launch(self._runs[job.run]), ()
        except LaunchError as error:
            return LaunchFailed(str(error)), ()

    def time(self, job: Time, _blobs: Blobs, _fds: Fds) -> Answer:
        nanoseconds: list[int] = []
        try:
            for number in job.runs:
                run = self._runs[number]
                self._memories[run.workload].make_ready()
                nanoseconds.append(self._launch(run))
        except LaunchError as error:
            return LaunchFailed(str(error)), ()
        return nanoseconds, ()

    def count(self, job: Count, _blobs: Blobs, _fds: Fds) -> Answer:
        run = self._runs[job.run]
        program = self._programs[run.program]
        if not isinstance(program, HasCounters):
            return NotCounted("this device does not count"), ()
        try:
            self._fill_constants(run)
            return program.counters(run.arguments, run.geometry), ()
        except LaunchError as error:
            return LaunchFailed(str(error)), ()

    def read(self, _job: Read, _blobs: Blobs, _fds: Fds) -> Answer:
        return (self._session.reading() if isinstance(self._session, HasReadings) else None), ()

    def _launch(self, run: _Run) -> int:
        self._fill_constants(run)
        # Clocks tick, some only every microsecond: a launch that fits between two ticks did not take no time at all.
        return max(1, self._programs[run.program].launch(run.arguments, run.geometry))

    def _fill_constants(self, run: _Run) -> None:
        constants = self._memories[run.workload].constants
        if constants and self._constants_of.get(run.program) != run.workload:
            self._programs[run.program].set_constants(constants)
            self._constants_of[run.program] = run.workload


def _argument(argument: Argument, views: Mapping[str, memoryview]) -> memoryview | bytes | None:
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
            Launch: worker.launch,
            Count: worker.count,
            Time: worker.time,
            Read: worker.read,
        }
    )
