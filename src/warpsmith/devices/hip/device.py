"""The device itself. `hip:gfx942` compiles for a target without a GPU; `hip`, or `hip:1`, is a GPU that is there."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from warpsmith.core.errors import UnavailableError, UnsupportedFeature
from warpsmith.core.hardware import Geometry, Language, Occupancy, Resources
from warpsmith.devices._clang.binary import clang_version
from warpsmith.devices._clang.preprocess import parse_log, users_tokens
from warpsmith.devices._gpu.host_code import Mixed
from warpsmith.devices._gpu.requests import request_key, require_fitting
from warpsmith.devices._gpu.session import VARIABLE
from warpsmith.devices.base import Binary, CompileRequest, DeviceInfo, Session
from warpsmith.devices.hip import compiling, hiprtc, occupancy
from warpsmith.devices.hip.metadata import machine_code
from warpsmith.devices.hip.target import HipTarget, parse_target

if TYPE_CHECKING:
    from warpsmith.devices.hip.gpu import Gpu

_LANGUAGES = frozenset({Language.CUDA, Language.HIP})


class HipDevice:
    machine_code_name = "code object"

    def __init__(self, selector: str = "") -> None:
        self.name = f"hip:{selector}" if selector else "hip"
        self._gpu = int(selector or 0) if selector.isdecimal() or not selector else None
        self._named = None if self._gpu is not None else parse_target(selector)

    @cached_property
    def target(self) -> HipTarget:
        return self._named or self._found.target

    @cached_property
    def _found(self) -> Gpu:
        from warpsmith.devices.hip.gpu import Gpu  # noqa: PLC0415 - the bindings, only where a GPU is meant

        assert self._gpu is not None
        return Gpu(self._gpu)

    def describe(self) -> DeviceInfo:
        versions = {"clang": clang_version(), "prelude": compiling.prelude_fingerprint()}
        if (found := hiprtc.version()) is not None:
            versions["hiprtc"] = found
        if self._named is None:
            return self._found.describe(self.name, _LANGUAGES, versions)
        return DeviceInfo(
            name=self.name,
            description=f"{self._named.name}, compile only (limits of a {self._named.product})",
            limits=self._named.limits,
            languages=_LANGUAGES,
            versions=versions,
        )

    def occupancy(self, resources: Resources, geometry: Geometry) -> Occupancy:
        return occupancy.occupancy(self.target, resources, geometry)

    def compile_key(self, request: CompileRequest) -> str:
        return request_key(self.target.name, request)

    def compile(self, request: CompileRequest) -> Binary:
        if request.language not in _LANGUAGES:
            raise UnsupportedFeature(
                f"the {self.name} device compiles HIP and CUDA C++, not {request.language}",
                hint="the opencl device runs it on AMD GPUs too",
            )
        compiled = _mixed(request).compiled(
            lambda text: compiling.compile_code_object(
                text,
                name=str(request.source_file),
                target=self.target.name,
                entry=request.entry,
                language=request.language,
                include_dirs=request.include_dirs,
                defines=request.defines,
                variables=[constant.name for constant in request.constants],
            )
        )
        require_fitting(compiled.facts.parameter_bytes, request.parameters)
        return Binary(
            code=compiled.code,
            entry=compiled.entry,
            resources=compiled.resources,
            device_data={f"{VARIABLE}{name}": lowered for name, lowered in compiled.variables.items()},
        )

    def preprocess(self, request: CompileRequest) -> list[str]:
        return _mixed(request).preprocessed(lambda text: users_tokens(compiling.preprocessed(text, request, self.target)))

    def machine_code(self, binary: Binary) -> str:
        return machine_code(binary.code, binary.entry)

    @property
    def reserves_addresses(self) -> bool:
        return self._named is None

    def open(self, compute_units: int | None = None) -> Session:  # noqa: ARG002 - it is part of the protocol
        """A GPU is always used whole."""
        if self._named is not None:
            raise UnavailableError(
                f"{self.name} is a target to compile for, not a GPU to run on", hint="run on hip where there is a GPU, or on cpu"
            )
        return self._found.open()


def _mixed(request: CompileRequest) -> Mixed:
    folders = (request.source_file.parent, *request.include_dirs, compiling.INCLUDE, compiling.PRELUDE_INCLUDE)
    return Mixed(request.source, request.source_file, folders, parse_log, request.defines)
