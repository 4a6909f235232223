"""The HIP device. `hip:gfx942` compiles for a target without a GPU; `hip`, or `hip:1`, is an actual GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warpsmith.core.errors import UnsupportedFeature
from warpsmith.core.hardware import Geometry, Occupancy, Resources
from warpsmith.devices._clang.binary import wheel_versions
from warpsmith.devices._clang.preprocess import parse_log, users_tokens
from warpsmith.devices._gpu.device import GpuDevice
from warpsmith.devices._gpu.host_code import Mixed
from warpsmith.devices._gpu.requests import device_data, require_fitting
from warpsmith.devices.base import Binary, CompileRequest, DeviceInfo, Finding
from warpsmith.devices.hip import compiling, hiprtc, occupancy
from warpsmith.devices.hip.examination import examine
from warpsmith.devices.hip.metadata import machine_code
from warpsmith.devices.hip.target import HipTarget, parse_target

if TYPE_CHECKING:
    from warpsmith.devices.hip.gpu import Gpu


class HipDevice(GpuDevice[HipTarget, "Gpu"]):
    kind = "hip"
    machine_code_name = "code object"

    def _parsed(self, selector: str) -> HipTarget:
        return parse_target(selector)

    def _gpu(self, index: int) -> Gpu:
        from warpsmith.devices.hip.gpu import Gpu  # noqa: PLC0415 - the bindings, only where a GPU is meant

        return Gpu(index)

    def examine(self) -> list[Finding]:
        return examine()

    def _described(self) -> DeviceInfo:
        versions = {**wheel_versions(), "prelude": compiling.prelude_fingerprint()}
        if (found := hiprtc.version()) is not None:
            versions["hiprtc"] = found
        if self._named is None:
            return self._found.describe(self.name, self.languages, versions)
        return DeviceInfo(
            name=self.name,
            description=f"{self._named.name}, compile only (limits of a {self._named.product})",
            limits=self._named.limits,
            languages=self.languages,
            versions=versions,
        )

    def occupancy(self, resources: Resources, geometry: Geometry) -> Occupancy:
        return occupancy.occupancy(self.target, resources, geometry)

    def compile(self, request: CompileRequest) -> Binary:
        if request.language not in self.languages:
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
            device_data=device_data(compiled.code, compiled.variables),
        )

    def preprocess(self, request: CompileRequest) -> list[str]:
        return _mixed(request).preprocessed(lambda text: users_tokens(compiling.preprocessed(text, request, self.target)))

    def machine_code(self, binary: Binary) -> str:
        return machine_code(binary.code, binary.entry)


def _mixed(request: CompileRequest) -> Mixed:
    folders = (request.source_file.parent, *request.include_dirs, compiling.INCLUDE, compiling.PRELUDE_INCLUDE)
    return Mixed(request.source, request.source_file, folders, parse_log, request.defines)
