"""An available GPU: its description, and opening it. Not used for a compile-only target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from warpsmith.core.errors import AbsentError, UnavailableError
from warpsmith.core.hardware import Language, Limits
from warpsmith.devices._gpu.session import GpuSession, open_session
from warpsmith.devices.base import DeviceInfo, LaunchError
from warpsmith.devices.cuda.api import CudaApi
from warpsmith.devices.cuda.driver import call, driver, text
from warpsmith.devices.cuda.hints import hint_in
from warpsmith.devices.cuda.target import CudaTarget

_NAME_BYTES = 256
_SPECIFIC_SINCE = 9


@dataclass(frozen=True)
class Gpu:
    """By its number among those that the driver shows."""

    index: int

    @cached_property
    def target(self) -> CudaTarget:
        """With this architecture's specific features (`sm_90a`: wgmma, …), because the code is for no other GPU."""
        major, minor = self._attribute("COMPUTE_CAPABILITY_MAJOR"), self._attribute("COMPUTE_CAPABILITY_MINOR")
        return CudaTarget(major, minor, "a" if major >= _SPECIFIC_SINCE else "")

    def require_driver_for(self, cuda_major: int) -> None:
        """Drivers load code from compilers of the same or an older major CUDA release. Raises UnavailableError."""
        driver()
        version = int(call("cuDriverGetVersion"))
        if version // 1000 < cuda_major:
            raise UnavailableError(
                f"NVIDIA's driver is for CUDA {version // 1000}.{version % 1000 // 10}, NVRTC makes code for CUDA {cuda_major}",
                hint="update the driver (CUDA 13 needs 580 or later)",
            )

    def describe(self, name: str, languages: frozenset[Language], versions: Mapping[str, str]) -> DeviceInfo:
        static_bytes = self._attribute("MAX_SHARED_MEMORY_PER_BLOCK")
        limits = Limits(
            max_threads_per_block=self._attribute("MAX_THREADS_PER_BLOCK"),
            max_block_x=self._attribute("MAX_BLOCK_DIM_X"),
            max_block_y=self._attribute("MAX_BLOCK_DIM_Y"),
            max_block_z=self._attribute("MAX_BLOCK_DIM_Z"),
            shared_bytes_per_block=max(static_bytes, self._attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN", 0)),
            warp_size=self._attribute("WARP_SIZE"),
            compute_units=self._attribute("MULTIPROCESSOR_COUNT"),
            max_grid_x=self._attribute("MAX_GRID_DIM_X"),
            max_grid_y=self._attribute("MAX_GRID_DIM_Y"),
            max_grid_z=self._attribute("MAX_GRID_DIM_Z"),
            static_shared_bytes_per_block=static_bytes,
        )
        called = text(call("cuDeviceGetName", _NAME_BYTES, self._handle))
        found = {**versions, "driver": str(call("cuDriverGetVersion"))}
        return DeviceInfo(name, f"{called} ({self.target})", limits, languages, found, True, self.target.name)

    def open(self) -> GpuSession:
        try:
            return open_session(lambda: CudaApi(self._handle, cache_bytes=self._attribute("L2_CACHE_SIZE", 0)))
        except UnavailableError as error:
            raise UnavailableError(error.message, hint=hint_in(error.message) or error.hint) from error

    @cached_property
    def _handle(self) -> Any:
        driver()
        count = call("cuDeviceGetCount")
        if self.index >= count:
            raise AbsentError(f"no NVIDIA GPU {self.index}: the driver shows {count}", hint="CUDA_VISIBLE_DEVICES may hide some")
        return call("cuDeviceGet", self.index)

    def _attribute(self, name: str, otherwise: int | None = None) -> int:
        """`otherwise` is for what a driver need not report."""
        attribute = getattr(driver().CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
        try:
            return int(call("cuDeviceGetAttribute", attribute, self._handle))
        except LaunchError:
            if otherwise is None:
                raise
            return otherwise
