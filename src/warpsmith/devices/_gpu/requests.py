"""Compile requests for any vendor's GPU: cache key, launch data, and the check that kernel and declaration match."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from warpsmith.core.configuration import Value
from warpsmith.core.fingerprint import fingerprint
from warpsmith.devices._elf import Elf
from warpsmith.devices.base import CompileError, CompileRequest, ParameterType

VARIABLE = "variable:"
"""Prefix of the entries in a binary's `device_data` with the lowered names of its variables."""

_POINTER_BYTES = 8


def request_key(target: str, request: CompileRequest) -> str:
    """Without the launch, which a GPU compiler does not need."""
    return fingerprint(target, *request.identity)


def device_data(code: bytes, lowered: Mapping[str, str]) -> dict[str, Value]:
    """`lowered` are the names of constants that the harness fills."""
    lasting = Elf(code).writable
    return {
        **{f"{VARIABLE}{name}": mangled for name, mangled in lowered.items()},
        **({"lasting": json.dumps(lasting)} if lasting else {}),
    }


def require_fitting(found: Sequence[int], parameters: Sequence[ParameterType]) -> None:
    """`found` are the kernel's parameter sizes: a launch with other sizes would read beyond the arguments."""
    if len(found) != len(parameters):
        raise CompileError(f"the kernel takes {len(found)} parameters, kernel.toml gives {len(parameters)}")
    for index, (parameter, size) in enumerate(zip(parameters, found, strict=True)):
        given = _POINTER_BYTES if parameter.is_pointer else parameter.dtype.itemsize
        if given != size:
            what = "a pointer" if parameter.is_pointer else f"{parameter.dtype.value}, {given} bytes"
            raise CompileError(
                f"parameter {index + 1} ('{parameter.name}') has {size} bytes in the kernel; kernel.toml gives {what}"
            )
