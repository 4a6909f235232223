"""NVRTC calls: source in; cubin, log and lowered name out. Needs no driver and no GPU.

Not through `cuda.core`: its Program asks the driver for some answers and can hang on a machine without one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from warpsmith.core.errors import UnavailableError

HINT = "pip install 'warpsmith[cuda]'"


@dataclass(frozen=True, slots=True)
class NvrtcResult:
    """`lowered` has the mangled name of each expression. After a failure it and `cubin` are empty, and `log` says why."""

    cubin: bytes
    log: str
    lowered: Mapping[str, str]


def run_nvrtc(source: str, name: str, expressions: Sequence[str], options: Sequence[str]) -> NvrtcResult:
    """One program. The expressions name the wanted kernels (`k<float>`) and variables (`&table`)."""
    nvrtc = bindings()
    failed_to_compile = nvrtc.nvrtcResult.NVRTC_ERROR_COMPILATION
    with _program(nvrtc, source, name) as program:
        for expression in expressions:
            _checked(nvrtc, nvrtc.nvrtcAddNameExpression(program, expression.encode()))
        (status,) = nvrtc.nvrtcCompileProgram(program, len(options), [option.encode() for option in options])
        log = _text(nvrtc, program, nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog)
        if status == failed_to_compile:
            return NvrtcResult(b"", log, {})
        _checked(nvrtc, (status,), log)
        cubin = _bytes(nvrtc, program, nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN)
        names = (_checked(nvrtc, nvrtc.nvrtcGetLoweredName(program, expression.encode())) for expression in expressions)
        return NvrtcResult(cubin, log, {expression: name.decode() for expression, name in zip(expressions, names, strict=True)})


def bindings() -> ModuleType:
    """`cuda.bindings.nvrtc`, with the library behind it. Raises UnavailableError."""
    try:
        from cuda.bindings import nvrtc  # type: ignore[import-untyped]  # noqa: PLC0415 - optional, and it costs a tenth of a second
    except ImportError as error:
        raise UnavailableError(f"no NVRTC: {error}", hint=HINT) from error
    try:
        nvrtc.nvrtcVersion()
    except (RuntimeError, OSError, ImportError) as error:  # the bindings are there, the library is not
        raise UnavailableError(f"no NVRTC: {str(error).splitlines()[0]}", hint=HINT) from error
    module: ModuleType = nvrtc
    return module


def version() -> tuple[int, int]:
    nvrtc = bindings()
    _, major, minor = nvrtc.nvrtcVersion()
    return int(major), int(minor)


def supported_architectures() -> tuple[int, ...]:
    """As in `sm_90`: the numbers that this NVRTC compiles for."""
    nvrtc = bindings()
    return tuple(_checked(nvrtc, nvrtc.nvrtcGetSupportedArchs()))


@contextmanager
def _program(nvrtc: ModuleType, source: str, name: str) -> Iterator[Any]:
    program = _checked(nvrtc, nvrtc.nvrtcCreateProgram(source.encode(), name.encode(), 0, [], []))
    try:
        yield program
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def _checked(nvrtc: ModuleType, answer: tuple[Any, ...], log: str = "") -> Any:
    """The value behind the status that begins every call's result."""
    status, *values = answer
    if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise UnavailableError(f"NVRTC failed: {status.name}{f': {log.strip()}' if log.strip() else ''}")
    return values[0] if values else None


def _text(nvrtc: ModuleType, program: Any, size: Any, read: Any) -> str:
    # ptxas' output follows NVRTC's own after a NUL byte.
    return _bytes(nvrtc, program, size, read).replace(b"\0", b"").decode(errors="replace")


def _bytes(nvrtc: ModuleType, program: Any, size: Any, read: Any) -> bytes:
    buffer = bytes(_checked(nvrtc, size(program)))
    _checked(nvrtc, read(program, buffer))
    return buffer
