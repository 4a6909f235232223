"""The jobs of a measuring worker. Memory travels as descriptors, code and constants as blobs; ids are the bench's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from warpsmith.core.dtype import DType
from warpsmith.core.hardware import Counters, Geometry, NotCounted, Reading
from warpsmith.core.outcome import LaunchFailed
from warpsmith.devices.base import Binary
from warpsmith.isolation.jobs import Job
from warpsmith.verify.arena import Placement

LaunchReply: TypeAlias = int | LaunchFailed
TimeReply: TypeAlias = list[int] | LaunchFailed
LoadReply: TypeAlias = LaunchFailed | None
CountReply: TypeAlias = Counters | NotCounted | LaunchFailed


@dataclass(frozen=True, slots=True)
class Open(Job[None]):
    """Open the device, on so many compute units (None: all). Once in a worker's life."""

    device: str
    compute_units: int | None
    reply: ClassVar[Any] = type(None)


@dataclass(frozen=True, slots=True)
class Load(Job[LoadReply]):
    """Load a binary, whose code is the blob, as `program`."""

    program: str
    binary: Binary
    reply: ClassVar[Any] = LoadReply


@dataclass(frozen=True, slots=True)
class Unload(Job[None]):
    """Forget a program and the runs that use it."""

    program: str
    reply: ClassVar[Any] = type(None)


@dataclass(frozen=True, slots=True)
class Attach(Job[None]):
    """Map a workload's memory: the arena's descriptor, then the one to restore `restored` from, if any. Blobs: its constants.

    `poisoned`: outputs and their types. A kernel that found what it computed before could leave it at that, and look fast.
    """

    workload: str
    layout: tuple[Placement, ...]
    restored: tuple[str, ...]
    poisoned: tuple[tuple[str, DType], ...]
    constants: tuple[str, ...]
    reply: ClassVar[Any] = type(None)


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a launch: a buffer of the workload, a scalar's bytes in hexadecimal, or a null pointer."""

    buffer: str | None = None
    scalar: str | None = None


@dataclass(frozen=True, slots=True)
class Prepare(Job[None]):
    """Everything that one launch needs, under a number, so that launching costs a short message."""

    run: int
    program: str
    workload: str
    arguments: tuple[Argument, ...]
    geometry: Geometry
    reply: ClassVar[Any] = type(None)


@dataclass(frozen=True, slots=True)
class Launch(Job[LaunchReply]):
    """Launch once on the memory as it is; device nanoseconds."""

    run: int
    reply: ClassVar[Any] = LaunchReply


@dataclass(frozen=True, slots=True)
class Read(Job[Reading | None]):
    """How the device fares, right after a launch; None where it does not say."""

    reply: ClassVar[Any] = Reading | None


@dataclass(frozen=True, slots=True)
class Count(Job[CountReply]):
    """What the device's counters say of a run."""

    run: int
    reply: ClassVar[Any] = CountReply


@dataclass(frozen=True, slots=True)
class Time(Job[TimeReply]):
    """Launch in this order, `inout` buffers restored before each; device nanoseconds of each."""

    runs: tuple[int, ...]
    reply: ClassVar[Any] = TimeReply
