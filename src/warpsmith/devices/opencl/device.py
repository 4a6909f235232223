"""Selects an available OpenCL device; `_clruntime` compiles and launches."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from warpsmith.core.errors import InputError, UnavailableError, UnsupportedFeature
from warpsmith.core.fingerprint import fingerprint
from warpsmith.core.hardware import Language
from warpsmith.devices._clruntime.building import build
from warpsmith.devices._clruntime.limits import read_limits
from warpsmith.devices._clruntime.loader import WHEEL, has_cpu_runtime, load_any_runtime, platforms
from warpsmith.devices._clruntime.opencl_c import OpenClProgram, compile_opencl_c
from warpsmith.devices._clruntime.preprocess import opencl_tokens
from warpsmith.devices._clruntime.session import ClSession
from warpsmith.devices.base import Binary, CompileRequest, DeviceInfo


class OpenClDevice:
    """`opencl` is the first GPU, else the first device of any kind; `opencl:1` the second in the order of `clinfo`."""

    def __init__(self, selector: str = "") -> None:
        self.name = f"opencl:{selector}" if selector else "opencl"
        self._selector = selector

    @cached_property
    def _session(self) -> ClSession:
        cl = load_any_runtime()
        return ClSession(cl, _choose(cl, self._selector))

    def describe(self) -> DeviceInfo:
        device = self._session.device
        return DeviceInfo(
            name=self.name,
            description=f"{device.name.strip()} ({device.platform.name.strip()})",
            limits=read_limits(device, warp_size=_warp_size(self._session.cl, device)),
            languages=frozenset({Language.OPENCL}),
            versions={"opencl": device.version.strip(), "driver": device.driver_version.strip()},
        )

    def compile_key(self, request: CompileRequest) -> str:
        """OpenCL C is compiled independently of its launch."""
        files = [str(request.source_file.parent), *map(str, request.include_dirs)]
        return fingerprint(self.name, request.source, request.entry, dict(request.defines), files, len(request.parameters))

    def compile(self, request: CompileRequest) -> Binary:
        if request.language is not Language.OPENCL:
            raise UnsupportedFeature(
                f"the {self.name} device runs OpenCL C, not {request.language}",
                hint="the cpu device runs CUDA and HIP kernels too",
            )
        return compile_opencl_c(self._session, request)

    def preprocess(self, request: CompileRequest) -> list[str]:
        return opencl_tokens(request)

    @property
    def reserves_addresses(self) -> bool:
        """It may be a GPU, with the same drivers as the other devices."""
        return True

    def open(self, compute_units: int | None = None) -> OpenClSession:
        """Fewer compute units keep a CPU's other cores free for compilers; a GPU is always used as a whole."""
        return OpenClSession(self._session if compute_units is None else _part_of(self._session, compute_units))


class OpenClSession:
    def __init__(self, session: ClSession) -> None:
        self._session = session

    def load(self, binary: Binary) -> OpenClProgram:
        return OpenClProgram(self._session, binary)

    def surround(self, buffer: memoryview, guarded: memoryview) -> None:
        self._session.surround(buffer, guarded)


def _choose(cl: Any, selector: str) -> Any:
    devices = [device for platform in platforms(cl) for device in platform.get_devices()]
    if not devices:
        wheel = f", or pip install {WHEEL}" if has_cpu_runtime() else ""
        raise UnavailableError("no OpenCL platform was found", hint=f"install the vendor's OpenCL driver{wheel}")
    if not selector:
        gpus = [device for device in devices if device.type & cl.device_type.GPU]
        return (gpus or devices)[0]
    if not selector.isdecimal() or int(selector) >= len(devices):
        known = ", ".join(f"opencl:{index} {device.name.strip()}" for index, device in enumerate(devices))
        raise InputError(f"no OpenCL device {selector!r}", hint=f"there is {known}")
    return devices[int(selector)]


def _warp_size(cl: Any, device: Any) -> int:
    """The device's preferred work-group size multiple."""
    context = cl.Context([device])
    program = build(cl, cl.Program(context, "__kernel void probe(__global int* p) { p[get_global_id(0)] = 1; }"), ())
    kernel = cl.Kernel(program, "probe")
    return int(kernel.get_work_group_info(cl.kernel_work_group_info.PREFERRED_WORK_GROUP_SIZE_MULTIPLE, device))


def _part_of(session: ClSession, compute_units: int) -> ClSession:
    cl, device = session.cl, session.device
    if compute_units >= device.max_compute_units or not device.type & cl.device_type.CPU:
        return session
    part, *_ = device.create_sub_devices([cl.device_partition_property.BY_COUNTS, compute_units, 0])
    return ClSession(cl, part, one_thread=compute_units == 1)
