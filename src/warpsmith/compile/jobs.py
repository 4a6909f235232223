"""Jobs of a compile worker. A binary's code travels as the frame's only blob."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from warpsmith.core.counted import Counted, LaunchArgument, NeedsInput
from warpsmith.core.hardware import Geometry
from warpsmith.core.outcome import CompileFailed
from warpsmith.devices.base import Binary, CompileRequest, DeviceInfo
from warpsmith.isolation.jobs import Job

CompileReply: TypeAlias = Binary | CompileFailed


@dataclass(frozen=True, slots=True)
class Describe(Job[DeviceInfo]):
    """`cores` are the cores that the device may use, even if the worker itself is restricted to fewer: some devices consist of
    them.
    """

    device: str
    cores: tuple[int, ...]
    reply: ClassVar[Any] = DeviceInfo


@dataclass(frozen=True, slots=True)
class Compile(Job[CompileReply]):
    device: str
    request: CompileRequest
    reply: ClassVar[Any] = CompileReply


@dataclass(frozen=True, slots=True)
class MachineCode(Job[str | None]):
    """A fingerprint of the executed part of the request's binary; None if the device cannot separate it."""

    device: str
    request: CompileRequest
    reply: ClassVar[Any] = str | None


@dataclass(frozen=True, slots=True)
class Instructions(Job[list[str] | str]):
    """The machine code of the request's binary as text; or why it is unavailable."""

    device: str
    request: CompileRequest
    reply: ClassVar[Any] = list[str] | str


@dataclass(frozen=True, slots=True)
class Count(Job[Counted | NeedsInput]):
    """Counters of a launch of the binary. The first blob is its code, followed by the contents of `constants` and of `inputs`."""

    device: str
    binary: Binary
    geometry: Geometry
    arguments: tuple[LaunchArgument, ...]
    constants: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    reply: ClassVar[Any] = Counted | NeedsInput


@dataclass(frozen=True, slots=True)
class Preprocess(Job[list[str]]):
    device: str
    request: CompileRequest
    reply: ClassVar[Any] = list[str]
