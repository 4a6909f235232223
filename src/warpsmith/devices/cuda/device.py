"""The device itself. `cuda:sm_90` compiles for a target without a GPU; `cuda`, or `cuda:1`, is a GPU that is there."""

from __future__ import annotations

from functools import cached_property
from importlib import metadata
from typing import TYPE_CHECKING

from warpsmith.core.errors import UnavailableError, UnsupportedFeature
from warpsmith.core.hardware import Geometry, Language, Occupancy, Resources
from warpsmith.devices._gpu.host_code import Mixed
from warpsmith.devices._gpu.requests import request_key, require_fitting
from warpsmith.devices._gpu.session import VARIABLE
from warpsmith.devices.base import Binary, CheckReport, CompileRequest, DeviceInfo, Session
from warpsmith.devices.cuda import headers, nvrtc, occupancy, sanitizer
from warpsmith.devices.cuda.architecture import ARCHITECTURES, architecture_of
from warpsmith.devices.cuda.compiling import compile_cubin
from warpsmith.devices.cuda.diagnostics import errors
from warpsmith.devices.cuda.preprocess import preprocessed_tokens
from warpsmith.devices.cuda.sass import machine_code
from warpsmith.devices.cuda.target import CudaTarget, parse_target

if TYPE_CHECKING:
    from warpsmith.devices.cuda.gpu import Gpu

_LANGUAGES = frozenset({Language.CUDA, Language.HIP})


class CudaDevice:
    machine_code_name = "SASS"
    checks = sanitizer.CHECKS
    counts = True

    def __init__(self, selector: str = "") -> None:
        self.name = f"cuda:{selector}" if selector else "cuda"
        self._gpu = int(selector or 0) if selector.isdecimal() or not selector else None
        self._named = None if self._gpu is not None else parse_target(selector)

    @cached_property
    def target(self) -> CudaTarget:
        return self._named or self._found.target

    @cached_property
    def _found(self) -> Gpu:
        from warpsmith.devices.cuda.gpu import Gpu  # noqa: PLC0415 - the driver's bindings, only where a GPU is meant

        assert self._gpu is not None
        return Gpu(self._gpu)

    def describe(self) -> DeviceInfo:
        major, minor = nvrtc.version()
        if self.target.number not in nvrtc.supported_architectures():
            raise UnavailableError(
                f"NVRTC {major}.{minor} does not compile for {self.target}",
                hint="older GPUs need the wheel nvidia-cuda-nvrtc of an older release, newer ones that of a newer",
            )
        if self._named is None:
            self._found.require_driver_for(major)
            return self._found.describe(self.name, _LANGUAGES, _versions())
        known = architecture_of(self._named)
        return DeviceInfo(
            name=self.name,
            description=f"{self._named}, compile only (limits of a {known.product})",
            limits=known.limits,
            languages=_LANGUAGES,
            versions=_versions(),
        )

    def occupancy(self, resources: Resources, geometry: Geometry) -> Occupancy | None:
        """A GPU that is there may be newer, or older, than our table: then there is none."""
        known = ARCHITECTURES.get(self.target.capability)
        return occupancy.occupancy(known, resources, geometry) if known is not None else None

    def compile_key(self, request: CompileRequest) -> str:
        return request_key(self.target.name, request)

    def compile(self, request: CompileRequest) -> Binary:
        if request.language not in _LANGUAGES:
            raise UnsupportedFeature(
                f"the {self.name} device compiles CUDA C++, not {request.language}",
                hint="the opencl device runs it on NVIDIA GPUs too",
            )
        folders = (request.source_file.parent, *request.include_dirs)
        provided = (*folders, *headers.header_folders())
        compiled = Mixed(request.source, request.source_file, provided, errors, request.defines).compiled(
            lambda text: compile_cubin(
                text,
                name=str(request.source_file),
                target=self.target.name,
                entry=request.entry,
                include_dirs=folders,
                defines=request.defines,
                variables=[constant.name for constant in request.constants],
            )
        )
        require_fitting(compiled.facts.parameter_bytes, request.parameters)
        return Binary(
            code=compiled.cubin,
            entry=compiled.entry,
            resources=compiled.resources,
            device_data={f"{VARIABLE}{name}": lowered for name, lowered in compiled.variables.items()},
        )

    def preprocess(self, request: CompileRequest) -> list[str]:
        return preprocessed_tokens(request, self.target)

    def machine_code(self, binary: Binary) -> str:
        return machine_code(binary.code, binary.entry)

    @property
    def reserves_addresses(self) -> bool:
        return self._named is None

    def check_command(self, check: str) -> tuple[str, ...]:
        return sanitizer.command(check)

    def check_report(self, text: str) -> CheckReport:
        return sanitizer.read_report(text)

    def open(self, compute_units: int | None = None) -> Session:  # noqa: ARG002 - it is part of the protocol
        """A GPU is always used whole."""
        if self._named is not None:
            raise UnavailableError(
                f"{self.name} is a target to compile for, not a GPU to run on", hint="run on cuda where there is a GPU, or on cpu"
            )
        return self._found.open()


def _versions() -> dict[str, str]:
    major, minor = nvrtc.version()
    return {"nvrtc": f"{major}.{minor}", "bindings": metadata.version("cuda-bindings"), "headers": headers.version()}
