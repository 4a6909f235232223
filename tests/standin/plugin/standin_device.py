"""The devices of the tests: NVIDIA's, whose cubins carry their PTX, for that is what the stand-in executes; and AMD's, whose code
objects are followed by such a cubin of the same source.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

from warpsmith.core.hardware import Language
from warpsmith.devices.base import Binary, CompileRequest
from warpsmith.devices.cuda import CudaDevice
from warpsmith.devices.hip import HipDevice

_ALIGNED = 16


class StandInDevice(CudaDevice):
    kind = "standin"
    options = ("--generate-line-info",)


class StandInHipDevice(HipDevice):
    kind = "standin-hip"

    def _gpu(self, index: int) -> Any:
        from warpsmith.devices.hip.gpu import Gpu

        class SmallGpu(Gpu):
            @cached_property
            def target(self) -> Any:
                """What reads more than the cache of a real one would be interpreted for minutes."""
                return replace(super().target, cache_bytes=1 << 20)

        return SmallGpu(index)

    def compile(self, request: CompileRequest) -> Binary:
        """What AMD's compiler makes of it is what is told of it; HIP and CUDA sources are the same to NVRTC."""
        compiled = super().compile(request)
        executed = StandInDevice("sm_90").compile(replace(request, language=Language.CUDA))
        room = -len(compiled.code) % _ALIGNED
        return replace(compiled, code=compiled.code + bytes(room) + executed.code)
