"""What a device is to the rest of Warpsmith: three small protocols, found by entry point (`warpsmith.devices`).

A device is used in three places, always in the same order:

* `Device.describe` and `Device.compile` run in a *compile worker* process;
* `Session` runs in a *measuring worker* process, the only place where a kernel is ever launched;
* the tuner's own process only sees the values in this module, which travel as JSON plus raw bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

from warpsmith.core.configuration import Value
from warpsmith.core.dtype import DType
from warpsmith.core.hardware import Geometry, Language, Limits, Occupancy, Reading, Resources


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """A device that is really there. `versions` is part of every cache key and record."""

    name: str
    description: str
    limits: Limits
    languages: frozenset[Language]
    versions: Mapping[str, str] = field(default_factory=dict)
    empties_caches: bool = False  # before each launch


@dataclass(frozen=True, slots=True)
class ParameterType:
    """One parameter of the kernel's entry: what travels to the device, not its C++ type."""

    name: str
    dtype: DType
    is_pointer: bool
    is_null: bool = False


@dataclass(frozen=True, slots=True)
class CompileRequest:
    """Device code and declarations, plus the launch it is for (sizes of dynamic shared memory, shape of the block)."""

    source: str
    source_file: Path  # for diagnostics, and its folder for #include "…"
    language: Language
    entry: str  # plain name or template instance
    parameters: tuple[ParameterType, ...]
    geometry: Geometry
    defines: Mapping[str, Value] = field(default_factory=dict)
    include_dirs: tuple[Path, ...] = ()
    constants: tuple[ParameterType, ...] = ()  # __constant__ symbols the harness fills

    @property
    def identity(self) -> tuple[object, ...]:
        """All but the launch, for keys: what of the launch counts differs from device to device."""
        return (
            self.language,
            self.source,
            str(self.source_file),
            [str(folder) for folder in self.include_dirs],
            self.entry,
            [(parameter.name, parameter.dtype, parameter.is_pointer) for parameter in self.parameters],
            [constant.name for constant in self.constants],
            dict(self.defines),
        )


@dataclass(frozen=True, slots=True)
class Binary:
    """A compiled kernel, ready to load into a session. `device_data` is private to the device (JSON-able)."""

    code: bytes
    entry: str
    resources: Resources
    device_data: Mapping[str, Value] = field(default_factory=dict)


class CompileError(Exception):
    """The source does not compile; `log` has the compiler's words, cleaned of generated code."""

    def __init__(self, reason: str, log: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.log = log


class LaunchError(Exception):
    """The device refused a launch, or the kernel trapped (`assert`, `__trap`)."""


class Program(Protocol):
    """A loaded binary."""

    def launch(self, arguments: tuple[memoryview | bytes | None, ...], geometry: Geometry) -> int:
        """Launch once and wait; return the device's own time in nanoseconds. Raises LaunchError.

        An argument is a writable view of (page-aligned) shared memory for a pointer, the raw little-endian bytes for a scalar,
        or None for a null pointer.
        """
        ...

    def set_constants(self, values: Mapping[str, bytes]) -> None:
        """Fill `__constant__` symbols; they stay filled for later launches."""
        ...


class Session(Protocol):
    """An open device in a measuring worker."""

    def load(self, binary: Binary) -> Program: ...


@runtime_checkable
class HasReadings(Protocol):
    """A session that can say how the device fares."""

    def reading(self) -> Reading | None:
        """Now, so right after a launch if it is to tell anything; None where the system does not let it know."""
        ...


class Device(Protocol):
    name: str

    def describe(self) -> DeviceInfo:
        """What is there, with its limits. Raises UnavailableError, with a hint, when it cannot run here."""
        ...

    def compile_key(self, request: CompileRequest) -> str:
        """Equal for requests that give the same binary; leaves out of the geometry what does not matter. Cheap and pure."""
        ...

    def compile(self, request: CompileRequest) -> Binary:
        """Raises CompileError, or UnsupportedFeature naming the feature and its line."""
        ...

    def preprocess(self, request: CompileRequest) -> list[str]:
        """The tokens of the source after preprocessing, without the device's own prelude (for identity certificates)."""
        ...

    def open(self, compute_units: int | None = None) -> Session:
        """Open the device for launching, on so many compute units (None: all)."""
        ...


@runtime_checkable
class HasOccupancy(Protocol):
    """A device whose compute units hold several blocks at once. Pure arithmetic: no device has to be there."""

    def occupancy(self, resources: Resources, geometry: Geometry) -> Occupancy | None:
        """None where the rules of the very device are not known."""
        ...
