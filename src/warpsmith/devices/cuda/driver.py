"""Owns the driver's calls: every answer checked, every failure told in its words. Imported only to use a GPU."""

from __future__ import annotations

from functools import cache
from types import ModuleType
from typing import Any

from warpsmith.core.errors import UnavailableError
from warpsmith.devices.base import ContextLost, LaunchError
from warpsmith.devices.cuda.nvrtc import HINT

# After one of these the context is lost: nothing launched later in this process can be trusted. NVIDIA's documentation says so of
# most; uncorrectable errors of memory, a context that is gone and what the driver cannot name are no better.
FATAL = frozenset(
    {
        "CUDA_ERROR_ASSERT",
        "CUDA_ERROR_CONTAINED",
        "CUDA_ERROR_CONTEXT_IS_DESTROYED",
        "CUDA_ERROR_ECC_UNCORRECTABLE",
        "CUDA_ERROR_EXTERNAL_DEVICE",
        "CUDA_ERROR_HARDWARE_STACK_ERROR",
        "CUDA_ERROR_ILLEGAL_ADDRESS",
        "CUDA_ERROR_ILLEGAL_INSTRUCTION",
        "CUDA_ERROR_INVALID_ADDRESS_SPACE",
        "CUDA_ERROR_INVALID_PC",
        "CUDA_ERROR_LAUNCH_FAILED",
        "CUDA_ERROR_LAUNCH_TIMEOUT",
        "CUDA_ERROR_MISALIGNED_ADDRESS",
        "CUDA_ERROR_MPS_CLIENT_TERMINATED",
        "CUDA_ERROR_NVLINK_UNCORRECTABLE",
        "CUDA_ERROR_TENSOR_MEMORY_LEAK",
        "CUDA_ERROR_UNKNOWN",
    }
)


@cache
def driver() -> ModuleType:
    """`cuda.bindings.driver`, initialised. Raises UnavailableError."""
    try:
        from cuda.bindings import driver as module  # type: ignore[import-untyped]  # noqa: PLC0415 - optional
    except ImportError as error:
        raise UnavailableError(f"no CUDA bindings: {error}", hint=HINT) from error
    try:
        (status,) = module.cuInit(0)
    except RuntimeError as error:  # what the bindings raise when there is no libcuda
        raise UnavailableError(
            "no NVIDIA driver: libcuda was not found",
            hint="install NVIDIA's driver; to compile without a GPU name a target, as in cuda:sm_90",
        ) from error
    if status != module.CUresult.CUDA_SUCCESS:
        raise UnavailableError(f"the NVIDIA driver does not start: {status.name}", hint="nvidia-smi may say more")
    loaded: ModuleType = module
    return loaded


def call(name: str, *arguments: Any) -> Any:
    """The value (or the tuple of values) of a driver function. Raises LaunchError, or ContextLost."""
    module = driver()
    status, *values = getattr(module, name)(*arguments)
    if status != module.CUresult.CUDA_SUCCESS:
        _, text = module.cuGetErrorString(status)
        message = f"{name}: {status.name}{f' ({text.decode()})' if text else ''}"
        raise ContextLost(message) if status.name in FATAL else LaunchError(message)
    return values[0] if len(values) == 1 else tuple(values)


def text(answer: bytes) -> str:
    """Of a string that the driver wrote into a buffer: the bindings give the whole buffer, with what was in it behind the end."""
    return answer.partition(b"\0")[0].decode()
