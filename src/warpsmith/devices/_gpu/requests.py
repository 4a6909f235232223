"""What compiling for a GPU makes of a request, whoever the vendor: its key, and whether the kernel fits its declaration."""

from __future__ import annotations

from collections.abc import Sequence

from warpsmith.core.fingerprint import fingerprint
from warpsmith.devices.base import CompileError, CompileRequest, ParameterType

_POINTER_BYTES = 8


def request_key(target: str, request: CompileRequest) -> str:
    """Without the launch: a GPU's compiler does not need to know it."""
    return fingerprint(target, *request.identity)


def require_fitting(found: Sequence[int], parameters: Sequence[ParameterType]) -> None:
    """`found` are the sizes of the kernel's own parameters: a launch with others would read beyond what is passed."""
    if len(found) != len(parameters):
        raise CompileError(f"the kernel takes {len(found)} parameters, kernel.toml gives {len(parameters)}")
    for index, (parameter, size) in enumerate(zip(parameters, found, strict=True)):
        given = _POINTER_BYTES if parameter.is_pointer else parameter.dtype.itemsize
        if given != size:
            what = "a pointer" if parameter.is_pointer else f"{parameter.dtype.value}, {given} bytes"
            raise CompileError(
                f"parameter {index + 1} ('{parameter.name}') has {size} bytes in the kernel; kernel.toml gives {what}"
            )
