"""HIP runtime calls, with every status checked and every failure reported in the runtime's words. Imported only to use a GPU."""

from __future__ import annotations

from functools import cache
from importlib import metadata
from types import ModuleType
from typing import Any

from warpsmith.core.errors import AbsentError, UnavailableError
from warpsmith.devices.base import ContextLost, LaunchError

_OLDEST = 10  # major release of the bindings whose functions return what earlier ones take places for
# After one of these nothing launched later in this process can be trusted.
FATAL = frozenset(
    {
        "hipErrorAssert",
        "hipErrorContextIsDestroyed",
        "hipErrorECCNotCorrectable",
        "hipErrorIllegalAddress",
        "hipErrorLaunchFailure",
        "hipErrorLaunchTimeOut",
        "hipErrorUnknown",
    }
)


@cache
def runtime() -> ModuleType:
    """`hip.hip`, with the runtime behind it. Raises UnavailableError."""
    try:
        from hip import hip  # noqa: PLC0415 - optional
    except ImportError as error:
        raise AbsentError(
            f"no HIP bindings: {error}",
            hint="pip install 'warpsmith[hip]'; to compile without a GPU name a target, as in hip:gfx942",
        ) from error
    version = metadata.version("hip-python")
    if int(version.partition(".")[0]) < _OLDEST:
        raise UnavailableError(f"hip-python {version} is too old", hint=f"pip install 'hip-python>={_OLDEST}'")
    try:
        (status,) = hip.hipInit(0)
    except RuntimeError as error:  # what the bindings raise when there is no libamdhip64
        raise AbsentError(
            "no HIP runtime: libamdhip64 was not found",
            hint="install ROCm; to compile without a GPU name a target, as in hip:gfx942",
        ) from error
    if status != hip.hipError_t.hipSuccess:
        raise UnavailableError(f"the HIP runtime does not start: {status.name}", hint="rocminfo may say more")
    loaded: ModuleType = hip
    return loaded


def call(name: str, *arguments: Any) -> Any:
    """The value (or the tuple of values) of a runtime function. Raises LaunchError, or ContextLost."""
    module = runtime()
    try:
        status, *values = getattr(module, name)(*arguments)
    except RuntimeError as error:  # what the bindings raise for a function that this runtime does not have
        raise LaunchError(f"{name}: {error}") from error
    except ValueError as error:  # an error that the bindings do not know, of a newer runtime: it may be of any kind
        raise ContextLost(f"{name}: {error}") from error
    if status != module.hipError_t.hipSuccess:
        message = f"{name}: {status.name}"
        raise ContextLost(message) if status.name in FATAL else LaunchError(message)
    return values[0] if len(values) == 1 else tuple(values)
