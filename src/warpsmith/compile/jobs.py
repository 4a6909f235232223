"""The jobs of a compile worker. A binary's code travels beside the header, as the frame's only blob."""

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
    """`cores` are those that count, where the worker itself is kept to fewer: some devices are what they may run on."""

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
    """A fingerprint of what runs of the request's binary; None where the device does not tell it from the rest."""

    device: str
    request: CompileRequest
    reply: ClassVar[Any] = str | None


@dataclass(frozen=True, slots=True)
class Instructions(Job[list[str] | str]):
    """The machine code of the request's binary as text; or why it cannot be shown."""

    device: str
    request: CompileRequest
    reply: ClassVar[Any] = list[str] | str


@dataclass(frozen=True, slots=True)
class Count(Job[Counted | NeedsInput]):
    """What a launch of the binary counts. The first blob is its code; then come the contents of `constants` and of `inputs`."""

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
