"""The parts of the devices' conformance suite that only a GPU can answer; elsewhere they are skipped, with the reason."""

from __future__ import annotations

from dataclasses import replace
from unittest import SkipTest

from warpsmith.core.hardware import Geometry
from warpsmith.devices._gpu.session import GpuSession
from warpsmith.devices.base import Binary, DeviceInfo, HasOccupancy
from warpsmith.devices.cuda import CudaDevice
from warpsmith.devices.cuda.driver import call
from warpsmith.devices.hip import HipDevice
from warpsmith.devices.registry import load_device

_BLOCKS = (32, 96, 128, 256, 1000, 1024)


def check_limits(name: str, info: DeviceInfo) -> None:
    """The GPU's own answer against what is said of its architecture where there is none; products differ in size only."""
    device = _gpu(name)
    compile_only = load_device(f"{name.partition(':')[0]}:{device.target.name}").describe()
    expected = replace(compile_only.limits, compute_units=info.limits.compute_units)
    assert info.limits == expected, f"{info.limits} instead of {expected}"


def check_occupancy(name: str, binary: Binary) -> None:
    """Our arithmetic against the driver's, for blocks of many sizes, with and without dynamic shared memory."""
    device = _gpu(name)
    if not isinstance(device, CudaDevice) or not isinstance(device, HasOccupancy):
        raise SkipTest("only NVIDIA's driver is asked")
    api = _session(name).api
    kernel = api.kernel(api.load(binary.code), binary.entry)
    for threads in _BLOCKS:
        for shared_bytes in (0, 1000, 40_000):
            ours = device.occupancy(binary.resources, Geometry((1, 1, 1), (threads, 1, 1), shared_bytes))
            if ours is None:
                raise SkipTest(f"the rules of {device.target} are not known")
            drivers = int(call("cuOccupancyMaxActiveBlocksPerMultiprocessor", kernel, threads, shared_bytes))
            assert ours.blocks == drivers, f"{threads} threads, {shared_bytes} bytes: {ours}, the driver says {drivers} blocks"


def cache_bytes(name: str) -> int:
    """Of the last-level cache, which is emptied before each launch."""
    _gpu(name)
    size = _session(name).api.cache_bytes
    if not size:
        raise SkipTest("the runtime does not tell the size of the cache")
    return size


def _gpu(name: str) -> CudaDevice | HipDevice:
    device = load_device(name)
    if not isinstance(device, CudaDevice | HipDevice):
        raise SkipTest(f"{name} is neither a cuda nor a hip device")
    return device


def _session(name: str) -> GpuSession:
    session = load_device(name).open()
    assert isinstance(session, GpuSession)
    return session
