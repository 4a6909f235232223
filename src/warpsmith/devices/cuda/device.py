"""The CUDA device. `cuda:sm_90` compiles for a target without a GPU; `cuda`, or `cuda:1`, is an actual GPU."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from typing import TYPE_CHECKING, ClassVar

from warpsmith.core.counted import Counted, LaunchArgument
from warpsmith.core.errors import UnavailableError, UnsupportedFeature
from warpsmith.core.hardware import Geometry, Occupancy, Resources
from warpsmith.devices._gpu.device import GpuDevice
from warpsmith.devices._gpu.host_code import Mixed
from warpsmith.devices._gpu.requests import device_data, require_fitting
from warpsmith.devices.base import Binary, CheckReport, CompileRequest, DeviceInfo, Finding
from warpsmith.devices.cuda import headers, nvrtc, occupancy, sanitizer
from warpsmith.devices.cuda.architecture import ARCHITECTURES, architecture_of
from warpsmith.devices.cuda.compiling import LINES, compile_cubin
from warpsmith.devices.cuda.counting import count
from warpsmith.devices.cuda.diagnostics import errors
from warpsmith.devices.cuda.examination import examine
from warpsmith.devices.cuda.nodes import make_nodes
from warpsmith.devices.cuda.preprocess import preprocessed_tokens
from warpsmith.devices.cuda.sass import machine_code, sass
from warpsmith.devices.cuda.target import CudaTarget, parse_target

if TYPE_CHECKING:
    from warpsmith.devices.cuda.gpu import Gpu


class CudaDevice(GpuDevice[CudaTarget, "Gpu"]):
    kind = "cuda"
    machine_code_name = "SASS"
    checks = sanitizer.CHECKS
    counts = True
    options: ClassVar[tuple[str, ...]] = ()
    """Further NVRTC options for devices derived from this one."""

    def _parsed(self, selector: str) -> CudaTarget:
        return parse_target(selector)

    def _gpu(self, index: int) -> Gpu:
        from warpsmith.devices.cuda.gpu import Gpu  # noqa: PLC0415 - the driver's bindings, only where a GPU is meant

        return Gpu(index)

    def make_ready(self) -> None:
        if self._named is None:
            make_nodes()

    def examine(self) -> list[Finding]:
        return examine()

    def _described(self) -> DeviceInfo:
        major, minor = nvrtc.version()
        if self.target.number not in nvrtc.supported_architectures():
            raise UnavailableError(
                f"NVRTC {major}.{minor} does not compile for {self.target}",
                hint="older GPUs need the wheel nvidia-cuda-nvrtc of an older release, newer ones that of a newer",
            )
        if self._named is None:
            self._found.require_driver_for(major)
            return self._found.describe(self.name, self.languages, _versions())
        known = architecture_of(self._named)
        return DeviceInfo(
            name=self.name,
            description=f"{self._named}, compile only (limits of a {known.product})",
            limits=known.limits,
            languages=self.languages,
            versions=_versions(),
        )

    def occupancy(self, resources: Resources, geometry: Geometry) -> Occupancy | None:
        """None if the GPU's architecture is missing from our table."""
        known = ARCHITECTURES.get(self.target.capability)
        return occupancy.occupancy(known, resources, geometry) if known is not None else None

    def compile(self, request: CompileRequest) -> Binary:
        if request.language not in self.languages:
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
                options=(*self.options, *((LINES,) if request.lines else ())),
            )
        )
        require_fitting(compiled.facts.parameter_bytes, request.parameters)
        return Binary(
            code=compiled.cubin,
            entry=compiled.entry,
            resources=compiled.resources,
            device_data=device_data(compiled.cubin, compiled.variables),
        )

    def preprocess(self, request: CompileRequest) -> list[str]:
        return preprocessed_tokens(request, self.target)

    def machine_code(self, binary: Binary) -> str:
        return machine_code(binary.code, binary.entry)

    def instructions(self, binary: Binary) -> list[str]:
        return sass(binary.code, binary.entry)

    def count(
        self,
        binary: Binary,
        geometry: Geometry,
        arguments: Sequence[LaunchArgument],
        constants: Mapping[str, bytes],
        contents: Callable[[str], bytes],
    ) -> Counted:
        found = self.occupancy(binary.resources, geometry)
        return count(binary, geometry, arguments, constants, contents, self.target, found.blocks if found else 1)

    def check_command(self, check: str) -> tuple[str, ...]:
        return sanitizer.command(check)

    def check_report(self, text: str) -> CheckReport:
        return sanitizer.read_report(text)


def _versions() -> dict[str, str]:
    major, minor = nvrtc.version()
    return {"nvrtc": f"{major}.{minor}", "bindings": metadata.version("cuda-bindings"), "headers": headers.version()}
