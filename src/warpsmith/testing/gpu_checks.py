"""Parts of the devices' conformance suite that need a GPU; elsewhere they are skipped, with the reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from unittest import SkipTest

from warpsmith.core.errors import UnavailableError
from warpsmith.core.hardware import Counters, Geometry, NotCounted, Reading
from warpsmith.devices._gpu.session import GpuSession
from warpsmith.devices.base import Binary, CheckReport, DeviceInfo, HasChecks, HasOccupancy, counts
from warpsmith.devices.cuda import CudaDevice
from warpsmith.devices.cuda.driver import call
from warpsmith.devices.hip import HipDevice
from warpsmith.devices.registry import load_device
from warpsmith.measure.bench import Bench, Candidate
from warpsmith.measure.checks import checked
from warpsmith.verify.prepared import PreparedWorkload

_BLOCKS = (32, 96, 128, 256, 1000, 1024)


def check_limits(name: str, info: DeviceInfo) -> None:
    """The GPU's own limits against those of its architecture without a GPU; products differ only in size."""
    device = _gpu(name)
    compile_only = load_device(f"{name.partition(':')[0]}:{device.target.name}").describe()
    expected = replace(compile_only.limits, compute_units=info.limits.compute_units)
    assert info.limits == expected, f"{info.limits} instead of {expected}"


def check_occupancy(name: str, binary: Binary) -> None:
    """Occupancy arithmetic against the driver's, for blocks of many sizes, with and without dynamic shared memory."""
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
    """Size of the last-level cache, which is emptied before each launch."""
    _gpu(name)
    size = _session(name).api.cache_bytes
    if not size:
        raise SkipTest("the runtime does not tell the size of the cache")
    return size


def check_reading(reading: Reading | None) -> None:
    if reading is None:
        raise SkipTest("no management library tells of this device")
    assert 0 < reading.clock_mhz <= 1.1 * reading.highest_clock_mhz, reading
    assert reading.power_w > 0, reading


def check_counters(name: str, workloads: Sequence[PreparedWorkload], candidate: Candidate) -> None:
    if not counts(load_device(name)):
        raise SkipTest("this device has no counters")
    with Bench(name, workloads) as bench:
        found = bench.counters(candidate, workloads[0].name)
    if isinstance(found, NotCounted):
        raise SkipTest(found.reason)
    assert isinstance(found, Counters), found
    figures = (found.memory_percent, found.compute_percent, found.cache_hit_percent, found.occupancy_percent)
    assert all(figure is None or 0 <= figure <= 105 for figure in figures), found


def check_checkers(name: str, workloads: Sequence[PreparedWorkload], right: Candidate, stray: Candidate) -> None:
    device = load_device(name)
    if not isinstance(device, HasChecks):
        raise SkipTest("this device has no checkers")
    try:
        found = {candidate.name: checked(device, name, "memcheck", candidate, workloads) for candidate in (right, stray)}
    except UnavailableError as error:
        raise SkipTest(str(error)) from error
    assert found[right.name] == CheckReport(), found
    assert found[stray.name].problems, found


def _gpu(name: str) -> CudaDevice | HipDevice:
    device = load_device(name)
    if not isinstance(device, CudaDevice | HipDevice):
        raise SkipTest(f"{name} is neither a cuda nor a hip device")
    return device


def _session(name: str) -> GpuSession:
    session = load_device(name).open()
    assert isinstance(session, GpuSession)
    return session
