"""Driver calls, with every status checked and every failure reported in the driver's words. Imported only to use a GPU."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from functools import cache
from types import ModuleType
from typing import Any

from warpsmith.core.errors import AbsentError, UnavailableError
from warpsmith.devices.base import ContextLost, LaunchError
from warpsmith.devices.cuda.hints import hint_for
from warpsmith.devices.cuda.nvrtc import HINT

# After one of these the context is lost: nothing launched later in this process can be trusted. NVIDIA's documentation says so
# for most; uncorrectable memory errors, a destroyed context and unknown errors are treated alike.
FATAL = frozenset(
    {
        "CUDA_ERROR_ASSERT",
        "CUDA_ERROR_CONTAINED",
        "CUDA_ERROR_CONTEXT_IS_DESTROYED",
        "CUDA_ERROR_DEINITIALIZED",
        "CUDA_ERROR_ECC_UNCORRECTABLE",
        "CUDA_ERROR_EXTERNAL_DEVICE",
        "CUDA_ERROR_HARDWARE_STACK_ERROR",
        "CUDA_ERROR_ILLEGAL_ADDRESS",
        "CUDA_ERROR_ILLEGAL_INSTRUCTION",
        "CUDA_ERROR_INVALID_ADDRESS_SPACE",
        "CUDA_ERROR_INVALID_CONTEXT",
        "CUDA_ERROR_INVALID_PC",
        "CUDA_ERROR_LAUNCH_FAILED",
        "CUDA_ERROR_LAUNCH_TIMEOUT",
        "CUDA_ERROR_MISALIGNED_ADDRESS",
        "CUDA_ERROR_MPS_CLIENT_TERMINATED",
        "CUDA_ERROR_MPS_RPC_FAILURE",
        "CUDA_ERROR_NVLINK_UNCORRECTABLE",
        "CUDA_ERROR_TENSOR_MEMORY_LEAK",
        "CUDA_ERROR_UNKNOWN",
    }
)
_ABSENT = frozenset({"CUDA_ERROR_NO_DEVICE", "CUDA_ERROR_STUB_LIBRARY", "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"})
"""Errors that a retry cannot fix; others may come from a GPU that is waking up, or whose last owner is still exiting."""


@cache
def driver() -> ModuleType:
    """`cuda.bindings.driver`, initialised. Raises UnavailableError."""
    try:
        from cuda.bindings import driver as module  # type: ignore[import-untyped]  # noqa: PLC0415 - optional
    except ImportError as error:
        raise AbsentError(f"no CUDA bindings: {error}", hint=HINT) from error
    # Otherwise a kernel's code may be loaded during its first launch, while the clock runs.
    os.environ["CUDA_MODULE_LOADING"] = "EAGER"
    try:
        failed = _started(module)
    except RuntimeError as error:  # what the bindings raise when there is no libcuda
        raise AbsentError(
            "no NVIDIA driver: libcuda was not found",
            hint="install NVIDIA's driver (in a container: --gpus all, and `compute` among NVIDIA_DRIVER_CAPABILITIES);"
            " to compile without a GPU name a target, as in cuda:sm_90",
        ) from error
    if failed is not None:
        kind = AbsentError if failed == "CUDA_ERROR_NO_DEVICE" else UnavailableError
        raise kind(f"the NVIDIA driver does not start: {failed}", hint=hint_for(failed))
    loaded: ModuleType = module
    return loaded


def _started(module: ModuleType, pauses_s: Sequence[float] = (0.3, 1.0, 0.0)) -> str | None:
    """The driver's final status, if it does not start."""
    failed = None
    for pause_s in pauses_s:
        try:
            (status,) = module.cuInit(0)
        except ValueError as error:  # of the bindings, for an error that they do not know
            failed = str(error)
        else:
            if status == module.CUresult.CUDA_SUCCESS:
                return None
            failed = status.name
        if failed in _ABSENT:
            break
        time.sleep(pause_s)
    return failed


def call(name: str, *arguments: Any) -> Any:
    """The value (or the tuple of values) of a driver function. Raises LaunchError, or ContextLost."""
    module = driver()
    try:
        status, *values = getattr(module, name)(*arguments)
    except RuntimeError as error:  # what the bindings raise for a function that this driver does not have
        raise LaunchError(f"{name}: {error}") from error
    except ValueError as error:  # an error that the bindings do not know, of a driver that is newer: it may be of any kind
        raise ContextLost(f"{name}: {error}") from error
    if status != module.CUresult.CUDA_SUCCESS:
        message = f"{name}: {status.name}{_explained(module, status)}"
        raise ContextLost(message) if status.name in FATAL else LaunchError(message)
    return values[0] if len(values) == 1 else tuple(values)


def _explained(module: ModuleType, status: Any) -> str:
    try:
        _, words = module.cuGetErrorString(status)
    except RuntimeError:  # it is not there
        return ""
    return f" ({words.decode()})" if words else ""


def text(answer: bytes) -> str:
    """A string that the driver wrote into a buffer: the bindings return the whole buffer, with leftovers behind its end."""
    return answer.partition(b"\0")[0].decode()
