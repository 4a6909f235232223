"""An available GPU: its description, and opening it. Not used for a compile-only target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from warpsmith.core.errors import AbsentError
from warpsmith.core.hardware import Language, Limits
from warpsmith.devices._gpu.session import GpuSession, open_session
from warpsmith.devices.base import DeviceInfo, LaunchError
from warpsmith.devices.hip.amdsmi import bus_id
from warpsmith.devices.hip.api import HipApi
from warpsmith.devices.hip.runtime import call, runtime
from warpsmith.devices.hip.target import MOST_BLOCKS_YZ, HipTarget, parse_target


@dataclass(frozen=True)
class Gpu:
    """By its number among those that the runtime shows."""

    index: int

    @cached_property
    def target(self) -> HipTarget:
        """The architecture's name may include features (`gfx942:sramecc+:xnack-`)."""
        return parse_target(_text(self._properties.gcnArchName).partition(":")[0])

    def describe(self, name: str, languages: frozenset[Language], versions: Mapping[str, str]) -> DeviceInfo:
        properties = self._properties
        limits = Limits(
            max_threads_per_block=properties.maxThreadsPerBlock,
            max_block_x=properties.maxThreadsDim[0],
            max_block_y=properties.maxThreadsDim[1],
            max_block_z=properties.maxThreadsDim[2],
            shared_bytes_per_block=properties.sharedMemPerBlock,
            warp_size=properties.warpSize,
            compute_units=properties.multiProcessorCount,
            max_grid_x=properties.maxGridSize[0],
            max_grid_y=min(properties.maxGridSize[1], MOST_BLOCKS_YZ),
            max_grid_z=min(properties.maxGridSize[2], MOST_BLOCKS_YZ),
        )
        found = {**versions, "runtime": str(call("hipRuntimeGetVersion"))}
        described = f"{_text(properties.name)} ({self.target.name})"
        return DeviceInfo(name, described, limits, languages, found, True, self.target.name)

    def open(self) -> GpuSession:
        cache_bytes = max(int(self._properties.l2CacheSize), self.target.cache_bytes)
        return open_session(lambda: HipApi(self.index, cache_bytes=cache_bytes, bus_id=bus_id(self._properties)))

    @cached_property
    def _properties(self) -> Any:
        runtime()
        try:
            count = int(call("hipGetDeviceCount"))
        except LaunchError as error:  # with no GPU at all the runtime calls the question itself an error
            raise AbsentError(f"no AMD GPU: {error}", hint="rocminfo may say more") from error
        if self.index >= count:
            raise AbsentError(f"no AMD GPU {self.index}: the runtime shows {count}", hint="HIP_VISIBLE_DEVICES may hide some")
        return call("hipGetDeviceProperties", self.index)


def _text(name: bytes | str) -> str:
    return name if isinstance(name, str) else name.rstrip(b"\0").decode()
