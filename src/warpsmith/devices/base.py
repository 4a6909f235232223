"""What a device is to the rest of Warpsmith: three small protocols, found by entry point (`warpsmith.devices`).

A device is used in three places, always in the same order:

* `Device.describe` and `Device.compile` run in a *compile worker* process;
* `Session` runs in a *measuring worker* process, the only place where a kernel is ever launched;
* the tuner's own process only sees the values in this module, which travel as data plus raw bytes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol, runtime_checkable

from warpsmith.core.configuration import Value
from warpsmith.core.counted import Counted, LaunchArgument
from warpsmith.core.dtype import DType
from warpsmith.core.hardware import Counters, Geometry, Language, Limits, NotCounted, Occupancy, Reading, Resources


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """An available device. `versions` is part of every cache key and record."""

    name: str
    description: str
    limits: Limits
    languages: frozenset[Language]
    versions: Mapping[str, str] = field(default_factory=dict)
    empties_caches: bool = False  # before each launch
    architecture: str | None = None  # of a GPU, as its compiler calls it: sm_90, gfx942


@dataclass(frozen=True, slots=True)
class ParameterType:
    """One parameter of the kernel's entry: its representation on the device, not its C++ type."""

    name: str
    dtype: DType
    is_pointer: bool
    is_null: bool = False
    is_written: bool = True
    """Whether the kernel may write the buffer; only used by devices that watch."""
    is_initialised: bool = True
    """Whether the buffer has contents before the launch; likewise."""


@dataclass(frozen=True, slots=True)
class Original:
    """The original source text, with the user's defines for it."""

    source: str
    defines: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CompileRequest:
    """Device code and declarations, plus the launch it is for (dynamic shared memory, block shape)."""

    source: str
    source_file: Path  # for diagnostics, and its folder for #include "…"
    language: Language
    entry: str  # plain name or template instance
    parameters: tuple[ParameterType, ...]
    geometry: Geometry
    defines: Mapping[str, Value] = field(default_factory=dict)
    include_dirs: tuple[Path, ...] = ()
    constants: tuple[ParameterType, ...] = ()  # __constant__ symbols the harness fills
    meaning: str | None = None
    """The source with its defines resolved, if known: equivalent requests give the same code."""
    held_to: Original | None = None
    """For source by another author: it must not require, keep or expose anything that this one does not."""
    watched: bool = False
    """For a device that `Watches`: launches fail if checkers find something."""
    plain: bool = False
    """For a device that `RunsPlainly`: no optimisations."""
    lines: bool = False
    """For a device that `CountsUnlaunched`: its machine code has source lines."""

    @property
    def identity(self) -> tuple[object, ...]:
        """Everything but the launch, for keys: the relevant part of the launch depends on the device."""
        exactly = (self.source, str(self.source_file), dict(self.defines))
        return (
            self.language,
            *((self.meaning,) if self.meaning is not None else exactly),
            [str(folder) for folder in self.include_dirs],
            self.entry,
            [(parameter.name, parameter.dtype, parameter.is_pointer) for parameter in self.parameters],
            [constant.name for constant in self.constants],
            *(("held to", self.held_to.source, dict(self.held_to.defines)) if self.held_to is not None else ()),
            *(("watched", *((p.is_written, p.is_initialised) for p in self.parameters)) if self.watched else ()),
            *(("plain",) if self.plain else ()),
            *(("lines",) if self.lines else ()),
        )


@dataclass(frozen=True, slots=True)
class Binary:
    """A compiled kernel, ready to load into a session. `device_data` is private to the device (JSON-able)."""

    code: bytes
    entry: str
    resources: Resources
    device_data: Mapping[str, Value] = field(default_factory=dict)

    @property
    def lasting_bytes(self) -> dict[str, int]:
        """Variables that a launch can change and that outlive it, by name, with sizes, if the device reports them (`lasting`).

        An entry without a name stands for all of them.
        """
        found: dict[str, int] = json.loads(str(self.device_data.get("lasting", "{}")))
        return found


class CompileError(Exception):
    """The source does not compile; `log` has the compiler's output, without generated code."""

    def __init__(self, reason: str, log: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.log = log


class LaunchError(Exception):
    """The device refused a launch, or the kernel trapped (`assert`, `__trap`)."""


RACECHECK, MEMCHECK, INITCHECK = "racecheck", "memcheck", "initcheck"
"""Checkers, named as in NVIDIA's tool: races; out-of-bounds accesses; uninitialised values."""


class ChecksFailed(LaunchError):  # noqa: N818 - reads as the fact it states
    """Findings of a watched launch, by checker. Each problem has thread, line and location."""

    _PREFIX = "checks failed: "
    _TOLD = 3

    def __init__(self, problems: Mapping[str, Sequence[str]]) -> None:
        texts = {}
        for check, found in problems.items():
            if found:
                more = f"; and {len(found) - self._TOLD} more places" if len(found) > self._TOLD else ""
                texts[check] = "; ".join(found[: self._TOLD]) + more
        super().__init__(self._PREFIX + json.dumps(texts))

    @classmethod
    def read(cls, reason: str) -> dict[str, str] | None:
        """Parsed from the error's text, which is all that is transmitted: the problem by checker; None for other errors."""
        return json.loads(reason.removeprefix(cls._PREFIX)) if reason.startswith(cls._PREFIX) else None


class ContextLost(Exception):  # noqa: N818 - reads as the fact it states
    """The kernel broke the context: nothing launched later in this process can be trusted.

    Not a LaunchError: the worker must end, and its owner starts another.
    """


class Program(Protocol):
    """A loaded binary."""

    def launch(self, arguments: tuple[memoryview | bytes | None, ...], geometry: Geometry) -> int:
        """Launch once and wait; return the device's own time in nanoseconds. Raises LaunchError.

        An argument is a writable view of (page-aligned) shared memory for a pointer, the raw little-endian bytes for a scalar,
        or None for a null pointer.
        """
        ...

    def set_constants(self, values: Mapping[str, bytes]) -> None:
        """Fill `__constant__` symbols; they keep their contents for later launches."""
        ...


class Session(Protocol):
    """An open device in a measuring worker."""

    def load(self, binary: Binary) -> Program: ...


@runtime_checkable
class Unloads(Protocol):
    """A program that uses device memory until it is closed."""

    def close(self) -> None: ...


@runtime_checkable
class Resets(Protocol):
    """A program whose global variables, which outlive a launch, can be reset to their initial values."""

    def reset(self) -> bool:
        """Whether there are such variables. Constants that were filled are among them."""
        ...


@runtime_checkable
class HasOwnMemory(Protocol):
    """A session that copies buffers to the device's own memory."""

    def surround(self, buffer: memoryview, guarded: memoryview) -> None:
        """`guarded` is the buffer with its guards, which are copied to the device and back with it.

        Otherwise an out-of-bounds write would land in memory that is not checked.
        """
        ...


@runtime_checkable
class HasCounters(Protocol):
    """A program whose device has performance counters: memory and compute utilisation, cache hit rates, active warps."""

    def counters(self, arguments: tuple[memoryview | bytes | None, ...], geometry: Geometry) -> Counters | NotCounted: ...


@runtime_checkable
class HasReadings(Protocol):
    """A session that can report the device's state."""

    def reading(self) -> Reading | None:
        """The current state, so call it right after a launch; None if the system does not report it."""
        ...


class Device(Protocol):
    name: str

    def describe(self) -> DeviceInfo:
        """The device and its limits. Raises UnavailableError, with a hint, if it cannot run here."""
        ...

    def compile_key(self, request: CompileRequest) -> str:
        """Equal for requests that give the same binary; ignores irrelevant parts of the launch. Cheap and pure."""
        ...

    def compile(self, request: CompileRequest) -> Binary:
        """Raises CompileError, or UnsupportedFeature with the feature and its line."""
        ...

    def preprocess(self, request: CompileRequest) -> list[str]:
        """Tokens of the source after preprocessing, without the device's prelude (for identity certificates)."""
        ...

    def open(self, compute_units: int | None = None) -> Session:
        """Open the device for launching on this many compute units (None: all)."""
        ...


@runtime_checkable
class ReservesAddresses(Protocol):
    """A device whose driver reserves far more addresses than there is memory, and does not start under an address limit."""

    @property
    def reserves_addresses(self) -> bool: ...


def reserves_addresses(device: Device) -> bool:
    return isinstance(device, ReservesAddresses) and device.reserves_addresses


@runtime_checkable
class HasDriver(Protocol):
    """A device with a driver, which the tuner's own process never loads."""

    def make_ready(self) -> None:
        """In the tuner, before a worker uses the driver: steps that a confined process cannot do."""
        ...

    def learn(self, info: DeviceInfo) -> None:
        """In the tuner: the device found by a worker. Keys and arithmetic need no driver from then on."""
        ...


class State(StrEnum):
    OK = "ok"
    LACKING = "lacking"  # something does without it
    FAILED = "failed"  # nothing runs
    ABSENT = "absent"  # there is nothing to examine


@dataclass(frozen=True, slots=True)
class Finding:
    """One result of an examination: state, description, and remedy."""

    what: str
    state: State
    said: str
    remedy: str | None = None


@runtime_checkable
class CanBeExamined(Protocol):
    """A device that can inspect this machine without its driver: hardware and permissions."""

    def examine(self) -> list[Finding]: ...


@runtime_checkable
class Counts(Protocol):
    """A device whose programs have `counters`."""

    counts: bool


def counts(device: Device) -> bool:
    return isinstance(device, Counts) and device.counts


@runtime_checkable
class HasMachineCode(Protocol):
    """A device whose binaries contain more than executed code: names, notes, debug tables."""

    machine_code_name: str

    def compile(self, request: CompileRequest) -> Binary: ...

    def machine_code(self, binary: Binary) -> str:
        """A fingerprint of the instructions and their data: equal for equivalent binaries."""
        ...


@runtime_checkable
class Disassembles(Protocol):
    """A device that can disassemble its machine code."""

    def compile(self, request: CompileRequest) -> Binary: ...

    def instructions(self, binary: Binary) -> list[str]:
        """A jump names the number of its target instruction: `jne @12`. Raises ValueError, UnavailableError."""
        ...


@runtime_checkable
class Watches(Protocol):
    """A device that compiles watched kernels, whose launches raise ChecksFailed. On one compute unit: block by block."""

    watches: bool


def watches(device: Device) -> bool:
    return isinstance(device, Watches) and device.watches


@runtime_checkable
class RunsPlainly(Protocol):
    """A device with a second, slow and unoptimised way to run kernels, which reveals errors of the optimiser."""

    runs_plainly: bool


def runs_plainly(device: Device) -> bool:
    return isinstance(device, RunsPlainly) and device.runs_plainly


CHECK_REPORT = "check.txt"
"""Report file of a checker, in its starting folder."""


@dataclass(frozen=True, slots=True)
class CheckReport:
    """A checker's report on the launches it watched. With a `failure` it could not watch all of them: that is not a pass."""

    problems: tuple[str, ...] = ()
    failure: str | None = None


@runtime_checkable
class HasChecks(Protocol):
    """A device with programs that watch every access of a kernel, for errors that no output shows."""

    checks: tuple[str, ...]

    def check_command(self, check: str) -> tuple[str, ...]:
        """Command line prefix for the program to check; the checker writes CHECK_REPORT. Raises UnavailableError if it is
        missing.
        """
        ...

    def check_report(self, text: str) -> CheckReport: ...


@runtime_checkable
class CountsUnlaunched(Protocol):
    """A device that executes its machine code without the hardware, to count instructions and accesses."""

    def count(
        self,
        binary: Binary,
        geometry: Geometry,
        arguments: Sequence[LaunchArgument],
        constants: Mapping[str, bytes],
        contents: Callable[[str], bytes],
    ) -> Counted:
        """`contents` are buffer contents by name. Raises UnsupportedFeature, naming what cannot be followed."""
        ...


@runtime_checkable
class HasOccupancy(Protocol):
    """A device whose compute units hold several blocks at once. Pure arithmetic: needs no hardware."""

    def occupancy(self, resources: Resources, geometry: Geometry) -> Occupancy | None:
        """None if the device's rules are unknown."""
        ...
