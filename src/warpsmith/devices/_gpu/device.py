"""Common base of all vendors' GPU devices: resolves a name to a GPU or a compile target."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from warpsmith.core.errors import UnavailableError
from warpsmith.core.hardware import Language
from warpsmith.devices._gpu.requests import request_key
from warpsmith.devices._gpu.session import GpuSession
from warpsmith.devices.base import CompileRequest, ContextLost, DeviceInfo, LaunchError, Session


class Target(Protocol):
    @property
    def name(self) -> str: ...


class FoundGpu(Protocol):
    """An available GPU; its target is of the device's own kind."""

    @property
    def target(self) -> Any: ...

    def open(self) -> GpuSession: ...


TargetT = TypeVar("TargetT", bound=Target)
GpuT = TypeVar("GpuT", bound=FoundGpu)


class GpuDevice(ABC, Generic[TargetT, GpuT]):
    """`kind:TARGET` compiles for a target without a GPU; `kind`, or `kind:1`, is an actual GPU."""

    kind: ClassVar[str]
    languages: ClassVar[frozenset[Language]] = frozenset({Language.CUDA, Language.HIP})

    def __init__(self, selector: str = "") -> None:
        self.name = f"{self.kind}:{selector}" if selector else self.kind
        self._index = int(selector or 0) if selector.isdecimal() or not selector else None
        self._named = None if self._index is not None else self._parsed(selector)
        self._learnt: TargetT | None = None

    @abstractmethod
    def _parsed(self, selector: str) -> TargetT:
        """Raises InputError."""

    @abstractmethod
    def _gpu(self, index: int) -> GpuT:
        """Loads the vendor's bindings, and only where a GPU is meant."""

    @property
    def target(self) -> TargetT:
        """The named or learned target; otherwise the driver is asked."""
        found: TargetT = self._named or self._learnt or self._found.target
        return found

    def make_ready(self) -> None:
        """Does nothing by default."""

    def learn(self, info: DeviceInfo) -> None:
        if info.architecture is not None:
            self._learnt = self._parsed(info.architecture)

    @abstractmethod
    def _described(self) -> DeviceInfo:
        """Raises UnavailableError, or the errors of the vendor's calls."""

    def describe(self) -> DeviceInfo:
        try:
            return self._described()
        except (LaunchError, ContextLost) as error:
            raise UnavailableError(
                f"the driver does not report the GPU's properties: {error}",
                hint="another program may hold it, or it needs a restart",
            ) from error

    @cached_property
    def _found(self) -> GpuT:
        assert self._index is not None
        return self._gpu(self._index)

    def compile_key(self, request: CompileRequest) -> str:
        return request_key(self.target.name, request)

    @property
    def reserves_addresses(self) -> bool:
        return self._named is None

    def open(self, compute_units: int | None = None) -> Session:  # noqa: ARG002 - it is part of the protocol
        """A GPU is always used as a whole."""
        if self._named is not None:
            hint = f"use {self.kind} on a machine with a GPU, or cpu"
            raise UnavailableError(f"{self.name} is a target to compile for, not a GPU to run on", hint=hint)
        return self._found.open()
