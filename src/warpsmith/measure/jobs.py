"""Jobs of a measuring worker. Memory travels as descriptors, code and constants as blobs; the bench assigns the ids."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from warpsmith.core.dtype import DType
from warpsmith.core.hardware import Counters, Geometry, NotCounted, Reading
from warpsmith.core.outcome import LaunchFailed
from warpsmith.devices.base import Binary
from warpsmith.isolation.jobs import Job
from warpsmith.verify.arena import Placement
from warpsmith.verify.pool import Recipe

LaunchReply: TypeAlias = int | LaunchFailed
TimeReply: TypeAlias = list[int] | LaunchFailed
LoadReply: TypeAlias = LaunchFailed | None
CountReply: TypeAlias = Counters | NotCounted | LaunchFailed


@dataclass(frozen=True, slots=True)
class Open(Job[None]):
    """Open the device on so many compute units (None: all). Once per worker.

    `filler`, whose code is the blob: used to fill buffers on a device that does so itself.
    """

    device: str
    compute_units: int | None
    filler: Binary | None = None
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
    """Map a workload's memory: the descriptor of its arena, then of the pool of inputs that `filled` are filled from.

    `restored` are those of them that launches change. `poisoned`: outputs and their types, overwritten so that a kernel cannot
    leave earlier results in place and look fast. Blobs: the workload's constants.
    """

    workload: str
    layout: tuple[Placement, ...]
    filled: tuple[Recipe, ...]
    restored: tuple[str, ...]
    poisoned: tuple[tuple[str, DType], ...]
    constants: tuple[str, ...]
    exceeds_caches: bool = False  # what is written before each launch, the host's
    reply: ClassVar[Any] = type(None)


@dataclass(frozen=True, slots=True)
class LaunchArgument:
    """One argument of a launch: a buffer of the workload, a scalar's bytes in hexadecimal, or a null pointer."""

    buffer: str | None = None
    scalar: str | None = None


@dataclass(frozen=True, slots=True)
class Prepare(Job[None]):
    """Everything that one launch needs, under a number: launching then takes a short message."""

    run: int
    program: str
    workload: str
    arguments: tuple[LaunchArgument, ...]
    geometry: Geometry
    reply: ClassVar[Any] = type(None)


@dataclass(frozen=True, slots=True)
class LaunchJob(Job[LaunchReply]):
    """Launch once on the current memory; device nanoseconds."""

    run: int
    reply: ClassVar[Any] = LaunchReply


@dataclass(frozen=True, slots=True)
class Read(Job[Reading | None]):
    """The device's state right after a launch; None if it reports none."""

    reply: ClassVar[Any] = Reading | None


@dataclass(frozen=True, slots=True)
class Count(Job[CountReply]):
    """Device counters for a run."""

    run: int
    reply: ClassVar[Any] = CountReply


@dataclass(frozen=True, slots=True)
class Time(Job[TimeReply]):
    """Launch in this order, each on memory prepared with its draw of inputs; device nanoseconds of each.

    `scrub`: runs to launch before each of them, untimed. `rewritten`: the tuner wrote to the workload's memory since the last
    launch. `looked_at`: the last launch's result is inspected.
    """

    runs: tuple[int, ...]
    draws: tuple[int, ...]
    scrub: tuple[int, ...] = ()
    rewritten: bool = False
    looked_at: bool = True
    reply: ClassVar[Any] = TimeReply
